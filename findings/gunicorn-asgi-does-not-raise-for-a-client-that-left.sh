#!/bin/sh
# gunicorn 27.0.1, ASGI worker: its scope says spec_version 2.4, by which send() should raise an OSError once the client has
# left, and receive() returns http.disconnect once the answer is complete. Over HTTP/2 it does both. Over HTTP/1.1, with the
# Python parser as with gunicorn_h1c 0.6.10, send() drops what it is given and says nothing, and receive() waits.
# Starlette 1.10.0 believes the number: from 2.4 on it waits for the OSError and no longer listens for the client. A
# StreamingResponse therefore goes on for nobody, until gunicorn cancels it after --asgi-disconnect-grace-period, 3 s; under
# uvicorn 0.54.0 and granian 2.8.9 (both say 2.3) and hypercorn 0.18.0 (2.1) it ends when the client leaves.
#
# Seen, in the second after the client left a stream of 50 parts/s: gunicorn HTTP/1.1: 49 parts more; the others: 0 or 1.
# receive() after the answer: gunicorn HTTP/1.1: nothing within 0.7 s; the others: http.disconnect.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check gunicorn==27.0.1 gunicorn_h1c==0.6.10 h2==4.4.1 \
  starlette==1.10.0 uvicorn==0.54.0 hypercorn==0.18.0 granian==2.8.9
cat > "$folder/streams.py" <<'EOF'
import asyncio

from starlette.responses import PlainTextResponse, StreamingResponse

seen = {"parts": 0, "received": None}


async def parts():
    while True:
        seen["parts"] += 1
        yield b"part"
        await asyncio.sleep(0.02)


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    if scope["path"] == "/stream":
        await StreamingResponse(parts())(scope, receive, send)
    elif scope["path"] == "/seen":
        await PlainTextResponse(f"{scope['asgi']['spec_version']} {seen['parts']} {seen['received']}")(scope, receive, send)
    else:
        await PlainTextResponse("answered")(scope, receive, send)
        try:
            while seen["received"] != "http.disconnect":  # the end of the request's body may come first
                seen["received"] = (await asyncio.wait_for(receive(), 0.7))["type"]
        except asyncio.TimeoutError:
            seen["received"] = "nothing"
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import http.client
import socket
import subprocess
import sys
from contextlib import contextmanager
from time import sleep

from h2.config import H2Configuration
from h2.connection import H2Connection

folder = sys.argv[1]
GUNICORN = ("gunicorn", "--no-control-socket", "--worker-class", "asgi")
HTTP2 = (*GUNICORN, "--http-protocols", "h2,h1", "--http2-cleartext", "both", "--bind")
SERVERS = {
    "gunicorn, Python parser": (*GUNICORN, "--http-parser", "python", "--bind"),
    "gunicorn, C parser": (*GUNICORN, "--http-parser", "fast", "--bind"),
    "gunicorn, HTTP/2": HTTP2, "uvicorn": ("uvicorn", "--port"), "hypercorn": ("hypercorn", "--bind"),
    "granian": ("granian", "--interface", "asgi", "--port"),
}


@contextmanager
def asked(port, path, is_http2):
    """Ask for path, and stay connected for the block."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        if is_http2:
            connection = H2Connection(H2Configuration(client_side=True))
            connection.initiate_connection()
            head = {":method": "GET", ":scheme": "http", ":authority": "localhost", ":path": path}
            connection.send_headers(1, head.items(), end_stream=True)
            client.sendall(connection.data_to_send())
        else:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield


def report(port):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", "/seen")
    version, parts, received = client.getresponse().read().decode().split()
    client.close()
    return version, int(parts), received


found = {}
for name, (program, *options) in SERVERS.items():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    at = f"127.0.0.1:{port}" if options[-1] == "--bind" else str(port)
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *options, at, "streams:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.1)
        with asked(port, "/answer", name == "gunicorn, HTTP/2"):
            sleep(1)
        with asked(port, "/stream", name == "gunicorn, HTTP/2"):
            sleep(0.3)
        version, before, received = report(port)
        sleep(1)
        more = report(port)[1] - before
    finally:
        server.terminate()
        server.wait()
    found[name] = version, more > 15, received
    print(f"{name}: says {version}; receive() after the answer: {received}; {before} parts, {more} more in the next second")
HTTP1 = ("2.4", True, "nothing")
SEEN = {
    "gunicorn, Python parser": HTTP1, "gunicorn, C parser": HTTP1, "gunicorn, HTTP/2": ("2.4", False, "http.disconnect"),
    "uvicorn": ("2.3", False, "http.disconnect"), "hypercorn": ("2.1", False, "http.disconnect"),
    "granian": ("2.3", False, "http.disconnect"),
}
sys.exit(found != SEEN)
EOF
