"""One line for each request for a correction, in the form of all other lines of the log.

A line by way of structlog and logging takes 40 us, 4 % of a request. Here a request only appends a tuple; a thread
makes lines of them and writes them, where the server starts it. A terminal or a pipe that nobody reads then costs
lines, which are counted, and never delays a request. No text of a user is in them.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from scheduler.messages import Completion, Timings
from scheduler.settings import Settings
from scheduler.traces import TraceContext

_MOST_LINES = 4096  # that wait to be written
_LINES_AT_ONCE = 8  # some 2,500 bytes: a pipe takes 4,096 in one piece, beside what other processes write
_WRITE_EVERY_S = 0.1
_STDERR = 2
_SHOWN_AT = ("debug", "info")
logger = structlog.get_logger(__name__)


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


_Line = tuple[Exchange, float, float]  # seconds that it took, and when it ended, since 1970


class RequestLog:
    """The lines of one process. Any thread may call `note`. `put` returns whether there was room."""

    def __init__(self, settings: Settings, put: Callable[[str], bool] | None = None) -> None:
        self.is_on = settings.log_level in _SHOWN_AT
        self._is_json = settings.log_format == "json"
        self._put = put or _to_stderr
        self._lines: deque[_Line] = deque()
        self._num_dropped = 0
        self._has_writer = False

    def note(self, exchange: Exchange, elapsed_s: float) -> None:
        if not self.is_on:
            return
        if len(self._lines) >= _MOST_LINES:
            self._num_dropped += 1
            return
        self._lines.append((exchange, elapsed_s, time.time()))
        if not self._has_writer:
            self.write()

    def run(self) -> None:
        """Writes the lines as they come, for ever: the target of a thread."""
        self._has_writer = True
        while True:
            time.sleep(_WRITE_EVERY_S)
            self.write()

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def write(self) -> None:
        """Writes all lines that wait, as far as there is room for them."""
        while lines := self._take():
            if not self._put("".join([self._text(*line) for line in lines])):
                self._lines.extendleft(reversed(lines))
                return
        num_dropped, self._num_dropped = self._num_dropped, 0
        if num_dropped:
            logger.warning("lines of requests were dropped: nobody read them fast enough", num_dropped=num_dropped)

    def _take(self) -> list[_Line]:
        lines: list[_Line] = []
        with suppress(IndexError):  # mode threaded takes them from many threads
            while len(lines) < _LINES_AT_ONCE:
                lines.append(self._lines.popleft())
        return lines

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
        if correlation_id is not None:
            fields["correlation_id"] = correlation_id if self._is_json else json.dumps(correlation_id)
        timestamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if self._is_json:
            fields |= {"event": "request", "process": "api", "level": "info", "timestamp": timestamp}
            return json.dumps(fields) + "\n"
        words = " ".join([f"{name}={value}" for name, value in fields.items()])
        return f"{timestamp} [info     ] {'request':<30} {words} process=api\n"  # as wide as structlog's own


def _to_stderr(text: str) -> bool:
    """Writes around Python's own stream, whose lock other threads need. False: there is no room, or no reader."""
    try:
        if not _has_room():
            return False
        left = text.encode()
        while left:
            left = left[os.write(_STDERR, left) :]
    except OSError:  # the reader is gone, which is no reason to end the thread or to answer 500
        return False
    return True


def _has_room() -> bool:
    """Leaves half of a pipe to all other lines: their writers block while the pipe is full."""
    if not stat.S_ISFIFO(os.fstat(_STDERR).st_mode):
        return True
    unread = int.from_bytes(fcntl.ioctl(_STDERR, termios.FIONREAD, bytes(4)), sys.byteorder)
    return unread < fcntl.fcntl(_STDERR, fcntl.F_GETPIPE_SZ) // 2 if hasattr(fcntl, "F_GETPIPE_SZ") else True
