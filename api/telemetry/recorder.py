"""What an API process records when a request is over: its numbers and its line in the log."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from api.grammar.correction import Correction
from api.service.exchange import Exchange
from api.telemetry.line_writer import STDERR, Line
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
logger = logging.getLogger(__name__)


class Tallies:
    """Counts the HTTP traffic of one process, in numbers that only grow. Any thread may call `totals`."""

    def __init__(self) -> None:
        self._latency = Histogram(TIME_BUCKETS_S)
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()  # mode threaded answers in many threads

    def note_response(self, exchange: Exchange) -> None:
        """Its route is one of the table of routes, never a path that somebody sent."""
        slug, account, status = exchange.slug, exchange.account, exchange.status
        with self._lock:
            self._counts[f"{HTTP}:{exchange.route}:{status}"] += 1
            if status == 504 and exchange.is_own_deadline:
                self._counts[OWN_DEADLINE] += 1
            if exchange.is_shed or (slug in _BEFORE_THE_QUEUE and exchange.route in _CORRECTIONS):
                self._counts[f"{REJECTED}:{slug}"] += 1
            if account is not None:
                self._counts[f"{KEY}:{account.name}:{status}"] += 1

    def note_answer(self, exchange: Exchange, elapsed_s: float) -> None:
        with self._lock:
            self._latency.observe(elapsed_s)

    def note_tokens(self, exchange: Exchange) -> None:
        """What a request costs its key: once, however often it is sent or its answer is asked for."""
        if exchange.account is None:
            return
        is_own = exchange.has_own_jobs and exchange.accepted_s  # else another request's, with the same key, or refused
        tokens = exchange.more_tokens + (exchange.prompt_tokens + exchange.output_tokens if is_own else 0)
        if tokens:
            with self._lock:
                self._counts[f"{KEY_TOKENS}:{exchange.account.name}"] += tokens

    def note_tick(self, late_s: float) -> None:
        """The event loop came to a timer, so much later than it was due."""
        self._counts["loop:ticks"] += 1
        self._counts["loop:late_s"] += late_s

    def totals(self) -> dict[str, float]:
        # No lock: a copy of a dictionary is atomic.
        return dict(self._counts) | self._latency.totals(E2E) | {DROPPED: STDERR.num_dropped}


class RequestLog:
    """One line for each request for a correction, in the form of all others of the log. Any thread may call `note`.

    By way of logging one takes 40 us. Here the thread that writes makes it. No text of a user is in it.
    """

    def __init__(self, settings: Settings, put: Callable[[Line], None] = STDERR.put) -> None:
        self.is_on = settings.log_level in ("debug", "info")
        self._is_json = settings.log_format == "json"
        self._put = put

    def note(self, exchange: Exchange, elapsed_s: float) -> None:
        if self.is_on:  # the exchange itself would keep its answers and its connection until the line is written
            timings, account = exchange.timings, exchange.account
            fields: dict[str, Any] = {
                "request_id": exchange.request_id,
                "route": exchange.route,
                "status": exchange.status,
                "outcome": exchange.outcome,
                "prompt_tokens": exchange.prompt_tokens,
                "output_tokens": exchange.output_tokens,
                "queue_ms": timings.queue_s,
                "prefill_ms": timings.prefill_s,
                "decode_ms": timings.decode_s,
                "total_ms": elapsed_s,
            }
            if account is not None:
                fields["key"] = account.name
            self._put(partial(self._text, fields, exchange.correlation_id, time.time()))

    def _text(self, fields: dict[str, Any], correlation_id: str | None, at_s: float) -> str:
        for name in ("queue_ms", "prefill_ms", "decode_ms", "total_ms"):
            fields[name] = round(fields[name] * 1e3, 1)
        if correlation_id is not None:
            fields["correlation_id"] = correlation_id if self._is_json else json.dumps(correlation_id)
        timestamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if self._is_json:
            fields |= {"event": "request", "process": "api", "level": "info", "timestamp": timestamp}
            return json.dumps(fields) + "\n"
        words = " ".join([f"{name}={value}" for name, value in fields.items()])
        return f"{timestamp} [info     ] {'request':<30} {words} process=api\n"  # as ops/run/logs.py


class RequestRecorder:
    """Records the requests of one process."""

    def __init__(self, settings: Settings) -> None:
        self.log = RequestLog(settings)
        self.tallies = Tallies()

    def finish(self, exchange: Exchange, method: str) -> float:
        """The response is ready to be sent; of a stream, its head. Returns the seconds since the request came."""
        elapsed_s = time.perf_counter() - exchange.received_s
        self.tallies.note_response(exchange)
        if not exchange.is_stream:
            self.tallies.note_tokens(exchange)
        if exchange.is_shed:
            self.log.note(exchange, elapsed_s)
        elif not exchange.is_read:
            _log_other(exchange, method, elapsed_s)
        elif not exchange.is_stream:
            self._close(exchange, elapsed_s)
        return elapsed_s

    def finish_stream(self, exchange: Exchange, end: Correction | ServingError | None) -> None:
        """The last event of a stream is sent, long after its status line; None: the client left before."""
        exchange.is_answer, exchange.has_gone = isinstance(end, Correction), end is None
        exchange.slug = end.slug if isinstance(end, ServingError) else None
        self.tallies.note_tokens(exchange)
        self._close(exchange, time.perf_counter() - exchange.received_s)

    def _close(self, exchange: Exchange, elapsed_s: float) -> None:
        if exchange.is_answer:
            self.tallies.note_answer(exchange, elapsed_s)
        self.log.note(exchange, elapsed_s)


def _log_other(exchange: Exchange, method: str, elapsed_s: float) -> None:
    """Log a request that never became a job: refusals and faults always, probes and questions for those who debug."""
    log = logger.debug if exchange.status < 400 else logger.info
    route = exchange.route if exchange.route != "none" else None
    details = {"key": exchange.account and exchange.account.name, "correlation_id": exchange.correlation_id}
    known = {name: value for name, value in (details | {"slug": exchange.slug}).items() if value is not None}
    about = {"method": method, "route": route, "status": exchange.status, "ms": round(elapsed_s * 1e3, 1)}
    log("request", extra={"request_id": exchange.request_id, **about, **known})
