"""An OpenTelemetry collector for tests: takes OTLP over HTTP and keeps the spans it was sent."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Span:
    """What tests ask about a span."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_s: float
    end_s: float
    facts: dict[str, Any]
    events: list[str]


class SpanCollector:
    """Use it as a context manager. While `is_refusing` it answers 400, which nobody tries again."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.is_refusing = False
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_taken = self.path == "/v1/traces" and not collector.is_refusing
                if is_taken:
                    collector.spans += _spans(ExportTraceServiceRequest.FromString(body))
                self.send_response(200 if is_taken else 400)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> SpanCollector:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _spans(request: ExportTraceServiceRequest) -> list[Span]:
    found = []
    for batch in request.resource_spans:
        service = _facts(batch.resource.attributes)["service.name"]
        for scope in batch.scope_spans:
            found += [_span(service, span) for span in scope.spans]
    return found


def _span(service: str, span: Any) -> Span:
    times = span.start_time_unix_nano / 1e9, span.end_time_unix_nano / 1e9
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    return Span(service, span.name, *ids, *times, _facts(span.attributes), [event.name for event in span.events])


def _facts(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
