"""An OpenTelemetry collector for tests: takes OTLP over HTTP and keeps the spans it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.webhook_receiver import PostReceiver


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


class SpanCollector(PostReceiver):
    """While `is_refusing` it answers 400, which nobody tries again."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[Span] = []
        self.is_refusing = False

    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> int:
        if request.path != "/v1/traces" or self.is_refusing:
            return 400
        self.spans += _spans(ExportTraceServiceRequest.FromString(body))
        return 200


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
    return Span(service, span.name, *ids, *times, _facts(span.attributes))


def _facts(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
