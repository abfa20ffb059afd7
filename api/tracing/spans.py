"""Spans of traced requests for an OpenTelemetry collector, over OTLP/HTTP, by OpenTelemetry's SDK.

A request waits for none of it: the SDK sends spans from a thread of its own, and drops them where nobody takes them.
"""

from __future__ import annotations

import os
import time
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from api.service.exchange import Exchange
from api.version import package_version

_EXPORT_EVERY_MS = 500
_TIMEOUT_S = 5


class SpanExport:
    """Exports the spans of one process; made in that process."""

    def __init__(self, endpoint: str) -> None:
        name = os.environ.get("OTEL_SERVICE_NAME") or "miniserve-api"
        provider = TracerProvider(
            resource=Resource.create({"service.name": name, "service.version": package_version()})
        )
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_TIMEOUT_S)
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_EXPORT_EVERY_MS))
        self._tracer = provider.get_tracer("miniserve")

    def is_sampled(self, traceparent: str) -> bool:
        return get_current_span(_context_of(traceparent)).get_span_context().trace_flags.sampled

    def note(self, traceparent: str, exchange: Exchange, trace: dict[str, Any]) -> None:
        """A request has its answer now: a span of its own, and one for each stage below it."""
        received_ns = time.time_ns() - _ns(trace["total_ms"])
        facts = {"http.request.method": "POST", "http.route": exchange.route, "http.response.status_code": 200}
        facts |= {"miniserve.request_id": exchange.request_id}
        about: dict[str, Any] = {"kind": SpanKind.SERVER, "attributes": facts, "start_time": received_ns}
        whole = self._tracer.start_span(f"POST {exchange.route}", _context_of(traceparent), **about)
        for stage in trace["stages"]:
            more = {f"miniserve.{name}": stage[name] for name in ("sentence", "output_tokens") if name in stage}
            start_ns = received_ns + _ns(stage["start_ms"])
            span = self._tracer.start_span(
                stage["name"], set_span_in_context(whole), attributes=more, start_time=start_ns
            )
            span.end(start_ns + _ns(stage["duration_ms"]))
        whole.end(received_ns + _ns(trace["total_ms"]))


def _context_of(traceparent: str) -> Context:
    """Without a parent where it is none, or malformed."""
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent}, Context())


def _ns(ms: float) -> int:
    return round(ms * 1e6)
