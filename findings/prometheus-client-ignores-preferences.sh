#!/bin/sh
# prometheus_client 0.26.0 does not look at what a client prefers, only at whether a word stands in the field. It answers
# Accept in OpenMetrics wherever that is named, also after another type, with a lower q, or with q=0, "not acceptable" by
# RFC 9110 12.4.2; and Accept-Encoding: gzip;q=0 with gzip. The order of scrape_protocols in Prometheus, which becomes these
# q values, has therefore no effect: a job that asks for the plain text first gets OpenMetrics.
#
# Seen: "text/plain;q=0.6, application/openmetrics-text;q=0.5" and "application/openmetrics-text;q=0, text/plain":
# openmetrics-text from make_wsgi_app and make_asgi_app; "gzip;q=0": gzip.
# Prints one line for each request; exit 1 if an answer changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prometheus-client==0.26.0
"$folder/venv/bin/python" - <<'EOF'
import asyncio
import sys

from prometheus_client import CollectorRegistry, Counter, make_asgi_app, make_wsgi_app

registry = CollectorRegistry()
Counter("requests", "Requests.", registry=registry).inc()
OPENMETRICS, TEXT = "application/openmetrics-text", "text/plain"
REQUESTS = {  # Accept, Accept-Encoding: type and encoding of the answer
    (f"{OPENMETRICS};version=1.0.0;q=0.6,{TEXT};version=0.0.4;q=0.5", ""): (OPENMETRICS, ""),
    (f"{TEXT};version=0.0.4;q=0.6,{OPENMETRICS};version=1.0.0;q=0.5", ""): (OPENMETRICS, ""),
    (f"{OPENMETRICS};version=1.0.0;q=0,{TEXT};version=0.0.4", ""): (OPENMETRICS, ""),
    (f"{TEXT};version=0.0.4", "gzip;q=0, identity"): (TEXT, "gzip"),
}


def by_wsgi(accept, encoding):
    seen = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "HTTP_ACCEPT": accept, "HTTP_ACCEPT_ENCODING": encoding}
    make_wsgi_app(registry)(environ, lambda status, headers: seen.extend(headers))
    return seen


def by_asgi(accept, encoding):
    seen = []
    headers = [(b"accept", accept.encode()), (b"accept-encoding", encoding.encode())]
    scope = {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": headers}

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        seen.extend((name.decode(), value.decode()) for name, value in message.get("headers", ()))

    asyncio.run(make_asgi_app(registry)(scope, receive, send))
    return seen


found = {}
for request in REQUESTS:
    answers = set()
    for serve in (by_wsgi, by_asgi):
        headers = {name.lower(): value for name, value in serve(*request)}
        answers.add((headers["content-type"].partition(";")[0], headers.get("content-encoding", "")))
    found[request] = answers
    print(f"{request[0]} {request[1]}: {answers}")
sys.exit(found != {request: {answer} for request, answer in REQUESTS.items()})
EOF
