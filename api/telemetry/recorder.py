"""What an API process records when a request is over: its numbers and its line in the log."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from api.grammar.correction import Correction
from api.service.exchange import Exchange
from api.telemetry.line_writer import STDERR, Line, log_line, one_word
from scheduler.errors import ServingError
from scheduler.observations import TIME_BUCKETS_S, Histogram
from scheduler.settings import Settings

E2E = "e2e_request_latency"
OWN_DEADLINE = "own_deadline"  # of answers with 504, those of a time that the client chose
HTTP = "http"  # of fields "http:<route>:<status>"
DROPPED = "log_lines_dropped"
KEY, KEY_TOKENS = "key", "key_tokens"  # of fields "key:<name>:<status>", "key_tokens:<name>"
REJECTED = "rejected"  # of fields "rejected:<slug>": the queue itself counts the refusals that it gives
_CORRECTIONS = ("/correct", "/correct/batch", "/v2/check")
_BEFORE_THE_QUEUE = ("not-ready", "shutting-down")  # refusals that no queue counts
SHED_LINE_EVERY_S = 1.0  # a line for each refusal of a full queue takes as much CPU as half of the refusal
_LEVELS = {"debug": ("debug", "info"), "info": ("info",)}  # that are logged


class RequestRecorder:
    """Records the requests of one process, in numbers that only grow. Any thread may ask for them.

    Each has a line in the log: corrections, refusals and faults always, probes and questions for those who debug. By
    way of logging one takes 40 us. Here the thread that writes makes it. No text of a user is in it.
    """

    def __init__(self, settings: Settings, put: Callable[[Line], None] = STDERR.put) -> None:
        self._levels = _LEVELS.get(settings.log_level, ())
        self._is_json = settings.log_format == "json"
        self.put = put
        self._latency = Histogram(TIME_BUCKETS_S)
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._num_shed, self._shed_until_s = 0, 0.0  # that have no line yet

    def finish(self, exchange: Exchange, method: str) -> float:
        """The response is ready to be sent; of a stream, its head. Returns the seconds since the request came."""
        elapsed_s = time.perf_counter() - exchange.received_s
        self._count_response(exchange)
        if not exchange.is_stream:
            self._count_end(exchange, elapsed_s)
        is_summed = exchange.is_shed and exchange.status == 503
        self._num_shed += is_summed
        if not (exchange.is_stream or is_summed):
            self.log(exchange, method, elapsed_s)
        return elapsed_s

    def finish_stream(self, exchange: Exchange, end: Correction | ServingError | None) -> None:
        """The last event of a stream is sent, long after its status line; None: the client left before."""
        exchange.is_answer, exchange.has_gone = isinstance(end, Correction), end is None
        exchange.slug = end.slug if isinstance(end, ServingError) else None
        elapsed_s = time.perf_counter() - exchange.received_s
        self._count_end(exchange, elapsed_s)
        self.log(exchange, "POST", elapsed_s)

    def note_tick(self, late_s: float) -> None:
        """The event loop came to a timer, so much later than it was due."""
        self._counts["loop:ticks"] += 1
        self._counts["loop:late_s"] += late_s
        if self._num_shed and (now_s := time.monotonic()) >= self._shed_until_s:
            number, self._num_shed, self._shed_until_s = self._num_shed, 0, now_s + SHED_LINE_EVERY_S
            if "info" in self._levels:
                facts = {"count": number, "process": "api"}
                self.put(partial(log_line, "requests refused", "info", time.time(), facts, self._is_json))

    def totals(self) -> dict[str, float]:
        # No lock: a copy of a dictionary is atomic.
        return dict(self._counts) | self._latency.totals(E2E) | {DROPPED: STDERR.num_dropped}

    def _count_response(self, exchange: Exchange) -> None:
        """Its route is one of the table of routes, never a path that somebody sent."""
        slug, account, status = exchange.slug, exchange.account, exchange.status
        self._counts[f"{HTTP}:{exchange.route}:{status}"] += 1
        if status == 504 and exchange.is_own_deadline:
            self._counts[OWN_DEADLINE] += 1
        if exchange.is_shed or (slug in _BEFORE_THE_QUEUE and exchange.route in _CORRECTIONS):
            self._counts[f"{REJECTED}:{slug}"] += 1
        if account is not None:
            self._counts[f"{KEY}:{account.name}:{status}"] += 1

    def _count_end(self, exchange: Exchange, elapsed_s: float) -> None:
        """What a request costs its key is counted once, however often it is sent or its answer is asked for."""
        if exchange.account is not None:
            is_own = exchange.has_own_jobs and exchange.accepted_s  # else another request's, or refused
            tokens = exchange.more_tokens + (exchange.prompt_tokens + exchange.output_tokens if is_own else 0)
            if tokens:
                self._counts[f"{KEY_TOKENS}:{exchange.account.name}"] += tokens
        if exchange.is_answer:
            self._latency.observe(elapsed_s)

    def log(self, exchange: Exchange, method: str, elapsed_s: float) -> None:
        level = "info" if exchange.is_read or exchange.status >= 400 else "debug"
        if level not in self._levels:
            return
        # The exchange itself would keep its answers and its connection until the line is written.
        facts: dict[str, Any] = {
            "request_id": exchange.request_id,
            "route": exchange.route,
            "status": exchange.status,
            "outcome": exchange.outcome,
        }
        if exchange.is_read:
            timings = exchange.timings
            facts["prompt_tokens"], facts["output_tokens"] = exchange.prompt_tokens, exchange.output_tokens
            facts["queue_ms"], facts["prefill_ms"] = _ms(timings.queue_s), _ms(timings.prefill_s)
            facts["decode_ms"] = _ms(timings.decode_s)
        else:
            facts["method"] = method
        facts["total_ms"] = _ms(elapsed_s)
        if exchange.account is not None:
            facts["key"] = exchange.account.name
        if (sent_id := exchange.correlation_id) is not None:
            facts["correlation_id"] = sent_id if self._is_json else one_word(sent_id)
        facts["process"] = "api"
        self.put(partial(log_line, "request", level, time.time(), facts, self._is_json))


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 1)
