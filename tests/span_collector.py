"""An OpenTelemetry collector for tests: takes OTLP over HTTP and keeps the spans it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.small_server import SmallServer, http


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


class SpanCollector(SmallServer):
    """While `is_refusing` it answers 400, which nobody tries again."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.is_refusing = False
        super().__init__(self._take)

    def _take(self, _: int) -> bytes:
        head, _, body = self.received[-1].partition(b"\r\n\r\n")
        if self.is_refusing or not head.startswith(b"POST /v1/traces "):
            return http(400, {})
        self.spans += _spans(ExportTraceServiceRequest.FromString(body))
        return http(200, {})


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
