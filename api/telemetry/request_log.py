"""One line for each request for a correction, in the form of all other lines of the log.

A line by way of structlog and logging takes 40 us, 4 % of a request. Here a request only leaves what is known of it;
the thread that writes makes the line. No text of a user is in it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from api.telemetry.line_writer import STDERR, Line
from scheduler.accounts import Account
from scheduler.messages import Completion, Timings
from scheduler.settings import Settings

if TYPE_CHECKING:
    from scheduler.spans import TraceContext

_SHOWN_AT = ("debug", "info")


@dataclass(slots=True)
class Exchange:
    """What is known of one HTTP request, filled in on its way. No text of a user is in it.

    Points of time are by time.perf_counter(); 0: it never came to that. Those but the first, and all below them, are of
    a request for a correction.
    """

    request_id: str  # the id of its job, too: nobody can guess the id of another's request
    received_s: float
    route: str = "none"  # as in the table of routes; never a path, which may hold anything
    correlation_id: str | None = None
    status: int = 0
    slug: str | None = None  # of its problem document
    timings: Timings = Timings()  # of its answer
    is_shed: bool = False  # refused without asking the queue
    is_answer: bool = False  # to a client that waited for it
    is_stream: bool = False  # it is over when its last event is sent
    has_left: bool = False  # the client of a stream
    is_kept_longer: bool = False  # asynchronous, or with an idempotency key: its trace lives as long as its answer
    context: TraceContext | None = None  # of its span
    client: str = ""  # whom the queue counts it for
    learner: str = ""  # a digest of whom it is counted for; '' for nobody
    account: Account | None = None  # whose key it came with; None where no key is asked for
    job_ids: tuple[str, ...] = ()  # empty: nothing of it was accepted under its own id
    prompt_tokens: int = 0
    output_tokens: int = 0
    parsed_s: float = 0.0
    tokenized_s: float = 0.0
    sent_s: float = 0.0  # to the queue
    accepted_s: float = 0.0  # by the queue
    answered_s: float = 0.0  # the last of its answers is here

    @property
    def outcome(self) -> str:
        if self.has_left:
            return "left"
        return self.slug or ("accepted" if self.status == 202 else "answered")

    def note_answers(self, completions: Sequence[Completion]) -> None:
        self.answered_s = time.perf_counter()
        self.accepted_s = self.accepted_s or self.answered_s  # the answer may be there before the queue's reply
        self.output_tokens += sum([len(completion.output_ids) for completion in completions])


class RequestLog:
    """The lines of one process. Any thread may call `note`."""

    def __init__(self, settings: Settings, put: Callable[[Line], None] = STDERR.put_later) -> None:
        self.is_on = settings.log_level in _SHOWN_AT
        self._is_json = settings.log_format == "json"
        self._put = put

    def note(self, exchange: Exchange, elapsed_s: float) -> None:
        if self.is_on:
            self._put(partial(self._text, exchange, elapsed_s, time.time()))

    def _text(self, exchange: Exchange, elapsed_s: float, at_s: float) -> str:
        timings, correlation_id = exchange.timings, exchange.correlation_id
        fields: dict[str, Any] = {
            "request_id": exchange.request_id,
            "route": exchange.route,
            "status": exchange.status,
            "outcome": exchange.outcome,
            "prompt_tokens": exchange.prompt_tokens,
            "output_tokens": exchange.output_tokens,
            "queue_ms": round(timings.queue_s * 1e3, 1),
            "prefill_ms": round(timings.prefill_s * 1e3, 1),
            "decode_ms": round(timings.decode_s * 1e3, 1),
            "total_ms": round(elapsed_s * 1e3, 1),
        }
        if exchange.account is not None:
            fields["key"] = exchange.account.name
        if correlation_id is not None:
            fields["correlation_id"] = correlation_id if self._is_json else json.dumps(correlation_id)
        timestamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if self._is_json:
            fields |= {"event": "request", "process": "api", "level": "info", "timestamp": timestamp}
            return json.dumps(fields) + "\n"
        words = " ".join([f"{name}={value}" for name, value in fields.items()])
        return f"{timestamp} [info     ] {'request':<30} {words} process=api\n"  # as wide as structlog's own
