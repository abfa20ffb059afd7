#!/bin/sh
# Flask 3.1.3: of an answer that is made piece by piece, prometheus_flask_exporter 0.23.2 and OpenTelemetry's instrumentation of
# Flask, 0.66b1, measure the time until its generator is handed over, and none of the time that it runs and the client waits.
# The exporter's "HTTP request duration in seconds" and the span of the server say a millisecond for a stream of a second: an
# alert on latency is silent, and spans of the generator begin after their parent has ended. OpenTelemetry's instrumentation of
# WSGI measures to the last part.
# Flask's stream_with_context changes nothing. Public as issue 3401 of opentelemetry-python-contrib and 143 of
# prometheus_flask_exporter, both open.
#
# Seen, for five parts, 0.2 s each, without and with the context: exporter and OpenTelemetry for Flask 0.0 s, for WSGI 1.0 s.
# Prints one line for each; exit 1 if one of them changes. The server is Werkzeug's, on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check flask==3.1.3 werkzeug==3.1.9 \
  prometheus-flask-exporter==0.23.2 prometheus-client==0.26.0 opentelemetry-sdk==1.45.1 \
  opentelemetry-instrumentation-flask==0.66b1 opentelemetry-instrumentation-wsgi==0.66b1
"$folder/venv/bin/python" - <<'EOF'
import logging
import sys
from threading import Thread
from time import sleep
from urllib.request import urlopen

from flask import Flask, stream_with_context
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from prometheus_flask_exporter import PrometheusMetrics
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)


def parts():
    for _ in range(5):
        sleep(0.2)
        yield b"part"


def measured(path, instrument):
    """Ask a new application for path; how long its instrument says that took."""
    app = Flask("streams")
    app.add_url_rule("/plain", "plain", lambda: app.response_class(parts()))
    app.add_url_rule("/context", "context", lambda: app.response_class(stream_with_context(parts())))
    registry, spans, provider = CollectorRegistry(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    if instrument == "exporter":
        PrometheusMetrics(app, registry=registry)
    elif instrument == "OpenTelemetry, Flask":
        FlaskInstrumentor().instrument_app(app, tracer_provider=provider)
    else:
        app.wsgi_app = OpenTelemetryMiddleware(app.wsgi_app, tracer_provider=provider)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        with urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
            answer.read()
        sleep(0.3)  # the server ends its request after the client has all
    finally:
        server.shutdown()
        thread.join()
    if instrument == "exporter":
        labels = {"method": "GET", "path": path, "status": "200"}
        return registry.get_sample_value("flask_http_request_duration_seconds_sum", labels)
    (span,) = spans.get_finished_spans()
    return (span.end_time - span.start_time) / 1e9


found = {}
for instrument in ("exporter", "OpenTelemetry, Flask", "OpenTelemetry, WSGI"):
    seconds = [measured(path, instrument) for path in ("/plain", "/context")]
    found[instrument] = tuple(second > 0.8 for second in seconds)
    print(f"{instrument}: a stream of 1 s took {seconds[0]:.1f} s, with the context {seconds[1]:.1f} s")
short, whole = (False, False), (True, True)
sys.exit(found != {"exporter": short, "OpenTelemetry, Flask": short, "OpenTelemetry, WSGI": whole})
EOF
