"""What a replica writes down when a request is over: its numbers, its line in the log, its part of the trace."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from api.jobs import Answer
from api.request_log import RequestLine, RequestLog
from api.tallies import Tallies
from scheduler.errors import ServingError
from scheduler.messages import Timings
from scheduler.settings import Settings
from scheduler.trace_context import SpanSink, TraceContext
from scheduler.traces import Marks, request_text
from worker.mailbox.traces import REQUEST_SUFFIX, Traces

ACCEPTED, ANSWERED, LEFT = "accepted", "answered", "left"  # outcomes beside the slugs of problems


@dataclass(slots=True)
class Exchange:
    """What is known of the request in hand and must outlive its handler."""

    request_id: str  # of the job, too: nobody can guess the id of another's request
    started: float
    correlation_id: str | None = None
    slug: str | None = None  # of the problem, if it is one
    timings: Timings = Timings()
    marks: Marks | None = None  # of a request for a correction
    is_answer: bool = False  # to somebody who waited for it
    context: TraceContext | None = None  # of its span, if it has one
    is_stream: bool = False  # over when its last event is out
    route: str = "none"
    status: int = 0


@dataclass(frozen=True, slots=True)
class Books:
    """Of one process."""

    log: RequestLog
    traces: Traces
    tallies: Tallies = field(default_factory=Tallies)
    spans: SpanSink | None = None

    @classmethod
    def of(cls, settings: Settings, spans: SpanSink | None = None) -> Books:
        traces = Traces(settings.trace_ttl_s if settings.uses_queue else 0)  # else nobody would fetch them
        return cls(RequestLog(settings), traces, spans=spans)

    @property
    def has_unwritten(self) -> bool:
        return self.log.has_lines or self.traces.has_parts or (self.spans is not None and self.spans.has_spans)

    def open(self, exchange: Exchange, traceparent: str | None) -> Marks:
        """It has been read, and is to become a job. `traceparent`: the client's header."""
        marks = exchange.marks = Marks(exchange.started, time.perf_counter())
        if self.spans is not None:
            exchange.context = self.spans.begin(traceparent)
            marks.traceparent = exchange.context and exchange.context.traceparent()
        return marks

    def close(self, exchange: Exchange, elapsed_s: float, outcome: str = "") -> None:
        """It is over; nothing is written of what never became a job."""
        marks, now = exchange.marks, time.time()
        if marks is None:
            return
        if exchange.is_answer:
            self.tallies.note_answer(elapsed_s)
        if self.log.is_on:
            self.log.note(_line(exchange, marks, now, elapsed_s, outcome))
        if self.traces.is_on or exchange.context is not None:
            self._keep_trace(exchange, marks, now - elapsed_s, elapsed_s)

    def close_at_gate(self, exchange: Exchange, elapsed_s: float) -> None:
        """It was refused before it was read."""
        self.tallies.note_refusal(exchange.route, exchange.status, exchange.slug or "")
        if self.log.is_on:
            self.log.note(_line(exchange, Marks(exchange.started, exchange.started), time.time(), elapsed_s, ""))

    def _keep_trace(self, exchange: Exchange, marks: Marks, received_at_s: float, elapsed_s: float) -> None:
        request_id, context = exchange.request_id, exchange.context
        marks.delivered_s = marks.received_s + elapsed_s
        text = request_text(request_id, marks, exchange.status, exchange.slug or "", received_at_s)
        if self.traces.is_on and marks.job_ids:
            self.traces.add(request_id + REQUEST_SUFFIX, text)
        if context is not None and self.spans is not None:
            self.spans.note_request(context, f"POST {exchange.route}", request_id, text)

    def close_stream(self, exchange: Exchange, end: Answer | ServingError | None) -> None:
        """Its status line was out long before; None: the client left."""
        if isinstance(end, Answer):
            exchange.is_answer, exchange.timings = True, end.timings
        elif end is not None:
            exchange.slug = end.slug
        self.close(exchange, time.perf_counter() - exchange.started, "" if end else LEFT)


def _line(exchange: Exchange, marks: Marks, now: float, elapsed_s: float, outcome: str) -> RequestLine:
    timings = exchange.timings
    return RequestLine(
        exchange.request_id,
        exchange.route,
        exchange.status,
        exchange.slug or outcome or (ACCEPTED if exchange.status == 202 else ANSWERED),
        marks.prompt_tokens,
        marks.output_tokens,
        timings.queue_s * 1e3,
        timings.prefill_s * 1e3,
        timings.decode_s * 1e3,
        elapsed_s * 1e3,
        now,
        exchange.correlation_id,
    )
