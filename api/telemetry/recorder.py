"""What an API process records when a request is over: its numbers, its line in the log, its part of the trace."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from api.grammar.pipeline import Correction
from api.telemetry.request_log import Exchange, RequestLog
from api.telemetry.tallies import Tallies
from scheduler.errors import ServingError
from scheduler.settings import Settings
from scheduler.trace_context import SpanSink
from scheduler.traces import request_text

_CORRECTIONS = ("/correct", "/correct/batch")
_BEFORE_THE_QUEUE = ("not-ready", "shutting-down")  # refusals that no queue counts
logger = structlog.get_logger(__name__)


class RequestRecorder:
    """Records the requests of one process."""

    def __init__(
        self, settings: Settings, keep_trace: Callable[[str, str, bool], object], spans: SpanSink | None = None
    ) -> None:
        """`keep_trace` takes a request's id, its part of the trace, and whether its answer is kept for longer."""
        self.log = RequestLog(settings)
        self.tallies = Tallies()
        self.spans = spans
        self._keep_trace = keep_trace if settings.traces == "on" else None

    @property
    def has_unwritten(self) -> bool:
        return self.log.has_lines or (self.spans is not None and self.spans.has_spans)

    def begin_job(self, exchange: Exchange, traceparent: str | None) -> None:
        """The request has been read and is to become a job. `traceparent`: the header of the client."""
        exchange.parsed_s = time.perf_counter()
        if self.spans is not None:
            exchange.context = self.spans.begin(traceparent)

    def finish(self, exchange: Exchange, method: str) -> float:
        """The response is ready to be sent; of a stream, its head. Returns the seconds since the request came."""
        elapsed_s = time.perf_counter() - exchange.received_s
        slug = exchange.slug
        is_rejection = exchange.is_shed or (slug in _BEFORE_THE_QUEUE and exchange.route in _CORRECTIONS)
        self.tallies.note_response(exchange.route, exchange.status, slug if is_rejection else "")
        if exchange.is_shed:
            self.log.note(exchange, elapsed_s)
        elif not exchange.parsed_s:
            _log_other(exchange, method, elapsed_s)
        elif not exchange.is_stream:
            self._close(exchange, elapsed_s)
        return elapsed_s

    def finish_stream(self, exchange: Exchange, end: Correction | ServingError | None) -> None:
        """The last event of a stream is sent, long after its status line; None: the client left before."""
        exchange.is_answer, exchange.has_left = isinstance(end, Correction), end is None
        exchange.slug = end.slug if isinstance(end, ServingError) else None
        self._close(exchange, time.perf_counter() - exchange.received_s)

    def _close(self, exchange: Exchange, elapsed_s: float) -> None:
        if exchange.is_answer:
            self.tallies.note_answer(elapsed_s)
        self.log.note(exchange, elapsed_s)
        context, job_ids = exchange.context, exchange.job_ids
        is_kept = self._keep_trace is not None and job_ids and exchange.accepted_s
        if not is_kept and context is None:
            return
        points_s = (exchange.parsed_s, exchange.tokenized_s, exchange.sent_s, exchange.accepted_s, exchange.answered_s)
        times_s = (exchange.received_s, *points_s, exchange.received_s + elapsed_s)
        end = exchange.status, exchange.slug or ""
        text = request_text(exchange.request_id, job_ids, end, time.time() - elapsed_s, times_s)
        if is_kept:
            self._keep_trace(exchange.request_id, text, exchange.is_kept_longer)
        if context is not None:
            self.spans.note_request(context, f"POST {exchange.route}", exchange.request_id, text)


def _log_other(exchange: Exchange, method: str, elapsed_s: float) -> None:
    """Log a request that never became a job: refusals and faults always, probes and questions for those who debug."""
    log = logger.debug if exchange.status < 400 else logger.info
    details = {"correlation_id": exchange.correlation_id, "slug": exchange.slug}
    log(
        "request",
        request_id=exchange.request_id,
        method=method,
        route=exchange.route if exchange.route != "none" else None,
        status=exchange.status,
        ms=round(elapsed_s * 1e3, 1),
        **{name: value for name, value in details.items() if value is not None},
    )
