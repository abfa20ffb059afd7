"""Spans of requests for an OpenTelemetry collector, over OTLP/HTTP; off unless MINISERVE_OTEL_ENDPOINT names one.

A span tree for each request: the API's span, under it what the replica did and, by way of the queue, what the worker
did. Spans are made from the parts of the trace once the request is over, with the times that these tell, in a thread of
their own: a request pays for an append. A collector that is away costs spans, which are counted in the log.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import structlog

from scheduler.errors import SettingsError
from scheduler.settings import Settings, variable
from scheduler.spans import TraceContext, parse_traceparent
from scheduler.trace_parts import HANDOFF_BATCH, RequestPart, SequencePart

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_EXPORT_EVERY_S = 0.25
_MOST_WAITING = 2048  # requests, or sequences; beyond them the oldest go
_MOST_AT_ONCE = 64  # of one export: about 300 spans
_TIMEOUT_S = 5.0
_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
logger = structlog.get_logger(__name__)


def check_installed(settings: Settings) -> None:
    """Raises SettingsError where spans are wanted and cannot be made."""
    if settings.otel_endpoint and not all(map(_is_installed, _PACKAGES)):
        problem = "needs packages that are not installed: pip install '.[otel]'"
        raise SettingsError(f"{variable('otel_endpoint')} {problem}")


def span_export(settings: Settings, role: str) -> SpanExport | None:
    """None unless it is switched on. Call it in the process that exports."""
    if not settings.otel_endpoint or not settings.uses_queue:
        return None
    check_installed(settings)
    return SpanExport(settings.otel_endpoint, role, settings.otel_share)


class SpanExport:
    """Exports the spans of one process. Keeps the SpanSink protocol."""

    def __init__(self, endpoint: str, role: str, share: float = 1.0) -> None:
        import logging

        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource

        # Its own line for every export that fails would be four a second; there is one from here for each interruption.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        name = os.environ.get("OTEL_SERVICE_NAME") or f"miniserve-{role}"
        self._makes = _SpanMaker(Resource.create({"service.name": name, "service.version": version("miniserve")}))
        self._exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_TIMEOUT_S)
        self._share = share
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=_MOST_WAITING)
        self._is_exporting = self._is_down = False
        self._num_lost = 0

    def begin(self, header: str | None) -> TraceContext | None:
        parent = parse_traceparent(header)
        if parent is None:
            is_chosen = self._share >= 1.0 or random.random() < self._share
            return TraceContext(secrets.token_hex(16), secrets.token_hex(8)) if is_chosen else None
        if not parent.is_sampled:
            return None
        return TraceContext(parent.trace_id, secrets.token_hex(8), parent_span_id=parent.span_id)

    def note_request(self, context: TraceContext, name: str, request_id: str, text: str) -> None:
        self._waiting.append((self._makes.of_request, context, name, request_id, text))

    def note_sequence(self, traceparent: str, request_id: str, text: str, ended_at_s: float) -> None:
        self._waiting.append((self._makes.of_sequence, traceparent, request_id, text, ended_at_s))

    @property
    def has_spans(self) -> bool:
        return self._is_exporting or bool(self._waiting)

    def run(self) -> None:
        while True:
            time.sleep(_EXPORT_EVERY_S)
            try:
                self.export()
            except Exception:  # what one export meets must not be the end of all
                logger.exception("spans could not be exported")

    def export(self) -> None:
        """All that waits."""
        while self._waiting:
            self._is_exporting = True
            notes = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
            self._send([span for make, *facts in notes for span in make(*facts)])
        self._is_exporting = False

    def _send(self, spans: list[ReadableSpan]) -> None:
        from opentelemetry.sdk.trace.export import SpanExportResult

        is_down = self._exporter.export(spans) is not SpanExportResult.SUCCESS
        self._num_lost += len(spans) if is_down else 0
        if is_down and not self._is_down:
            logger.warning("the collector of spans takes none; they are dropped until it does")
        elif self._is_down and not is_down:
            logger.warning("the collector takes spans again", num_lost=self._num_lost)
            self._num_lost = 0
        self._is_down = is_down


class _SpanMaker:
    """Makes spans of parts of traces."""

    def __init__(self, resource: Any) -> None:
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self._about = {"resource": resource, "instrumentation_scope": InstrumentationScope("miniserve")}

    def of_request(self, context: TraceContext, name: str, request_id: str, text: str) -> Iterator[ReadableSpan]:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        part = RequestPart.from_text(request_id, text)
        method, _, route = name.partition(" ")
        facts = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": part.status,
            "miniserve.request_id": request_id,
        }
        facts |= {"error.type": part.slug} if part.slug else {}
        status = Status(StatusCode.ERROR if part.status >= 500 else StatusCode.UNSET)
        zero = part.received_at_s
        more = {"kind": SpanKind.SERVER, "status": status}
        yield self._span(name, context, (zero, zero + part.delivered_s), facts, is_parent_remote=True, **more)
        for child, start_s, end_s in (
            ("tokenize", part.parsed_s, part.tokenized_s),
            ("reserve", part.sent_s, part.accepted_s),
            ("deliver", part.answered_s, part.delivered_s),
        ):
            if start_s and end_s:
                yield self._span(child, _child_of(context), (zero + start_s, zero + end_s), {})

    def of_sequence(self, traceparent: str, request_id: str, text: str, ended_at_s: float) -> Iterator[ReadableSpan]:
        from opentelemetry.sdk.trace import Event

        parent = parse_traceparent(traceparent)
        if parent is None:
            return
        part = SequencePart.from_text(text)
        first, *steps = part.steps or ((0.0, 0),)
        first_token_s = ended_at_s - sum(seconds for seconds, _ in steps)
        admitted_s = first_token_s - part.prefill_s
        facts = {"miniserve.job_id": request_id, "miniserve.attempt": part.attempt}
        span = partial(self._span, is_parent_remote=True)  # the parent is of an API process
        hop_s = sum(seconds for seconds, batch_size in steps if batch_size == HANDOFF_BATCH)
        events, at_s = [], first_token_s
        for seconds, batch_size in steps:
            at_s += seconds
            if batch_size != HANDOFF_BATCH:
                events.append(Event("step", {"batch_size": batch_size}, timestamp=_ns(at_s)))
        yield span("queue", _child_of(parent), (admitted_s - part.queue_s, admitted_s), facts)
        about_prefill = {"prompt_tokens": part.prompt_tokens, "batch_size": first[1], "slot": part.slot}
        yield span("prefill", _child_of(parent), (admitted_s, first_token_s), facts | about_prefill)
        begun_s = first_token_s + hop_s
        if hop_s:
            yield span("handoff", _child_of(parent), (first_token_s, begun_s), facts)
        about_decode = {"output_tokens": part.output_tokens, "finish_reason": part.finish_reason.value}
        yield span("decode", _child_of(parent), (begun_s, ended_at_s), facts | about_decode, events=events)

    def _span(
        self, name: str, context: TraceContext, times_s: tuple[float, float], facts: Mapping[str, Any], **more: Any
    ) -> ReadableSpan:
        """`is_parent_remote`: the parent is of another process, which the exporter writes into the flags."""
        from opentelemetry.sdk.trace import ReadableSpan

        is_remote = more.pop("is_parent_remote", False)
        parent = _otel(context.trace_id, context.parent_span_id, is_remote) if context.parent_span_id else None
        start, end = map(_ns, times_s)
        own = _otel(context.trace_id, context.span_id)
        return ReadableSpan(name, own, parent, attributes=facts, start_time=start, end_time=end, **self._about, **more)


def _child_of(context: TraceContext) -> TraceContext:
    return TraceContext(context.trace_id, secrets.token_hex(8), parent_span_id=context.span_id)


def _otel(trace_id: str, span_id: str, is_remote: bool = False) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))


def _ns(at_s: float) -> int:
    return round(at_s * 1e9)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
