"""One line for each request for a correction, in the form of all other lines of the log, and twenty times cheaper.

A line by way of structlog and logging takes 40 us, 4 % of a request; this takes 3. So the lines are made from
templates, and written by a thread of their own where the server starts it: a terminal or a pipe that nobody reads then
costs lines, which are counted, and never holds up a request. `put` says whether there was room. No text of a user is in
them.
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
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import structlog

from scheduler.settings import Settings

_MOST_LINES = 4096  # that wait to be written
_LINES_AT_ONCE = 8  # some 2,500 bytes: a pipe takes 4,096 in one piece, beside what other processes write
_WRITE_EVERY_S = 0.1
_STDERR = 2
_SHOWN_AT = ("debug", "info")
_JSON = (  # of the fields of a RequestLine in their order, then of what not every line has, then of the time
    '{"request_id": "%s", "route": "%s", "status": %d, "outcome": "%s", "prompt_tokens": %d, "output_tokens": %d, '
    '"queue_ms": %.1f, "prefill_ms": %.1f, "decode_ms": %.1f, "total_ms": %.1f%s, '
    '"event": "request", "process": "api", "level": "info", "timestamp": "%s"}\n'
)
_CONSOLE = (
    "request_id=%s route=%s status=%d outcome=%s prompt_tokens=%d output_tokens=%d "
    "queue_ms=%.1f prefill_ms=%.1f decode_ms=%.1f total_ms=%.1f%s process=api\n"
)
_CONSOLE_HEAD = "%s [info     ] request                        "  # as wide as structlog's own
logger = structlog.get_logger(__name__)


class RequestLine(NamedTuple):
    """What is told of one request. All words are ours but `correlation_id`."""

    request_id: str
    route: str
    status: int
    outcome: str  # answered, accepted, left, or the slug of its problem
    prompt_tokens: int
    output_tokens: int
    queue_ms: float
    prefill_ms: float
    decode_ms: float
    total_ms: float
    at_s: float  # since 1970
    correlation_id: str | None


class RequestLog:
    """Of one API replica. `note` may be called from any thread."""

    def __init__(self, settings: Settings, put: Callable[[str], bool] | None = None) -> None:
        self.is_on = settings.log_level in _SHOWN_AT
        self._is_json = settings.log_format == "json"
        self._put = put or _to_stderr
        self._lines: deque[RequestLine] = deque()
        self._num_dropped = 0
        self._has_writer = False
        self._second, self._second_text = -1, ""

    def note(self, line: RequestLine) -> None:
        if not self.is_on:
            return
        if len(self._lines) >= _MOST_LINES:
            self._num_dropped += 1
            return
        self._lines.append(line)
        if not self._has_writer:
            self.write()

    def run(self) -> None:
        """Write what comes, for ever: the target of a thread."""
        self._has_writer = True
        while True:
            time.sleep(_WRITE_EVERY_S)
            self.write()

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def write(self) -> None:
        """All that waits, as far as there is room for it."""
        while lines := self._take():
            if not self._put("".join(map(self._text, lines))):
                self._lines.extendleft(reversed(lines))
                return
        num_dropped, self._num_dropped = self._num_dropped, 0
        if num_dropped:
            logger.warning("lines of requests were dropped: nobody read them fast enough", num_dropped=num_dropped)

    def _take(self) -> list[RequestLine]:
        lines: list[RequestLine] = []
        with suppress(IndexError):  # in mode threaded, many take from them
            while len(lines) < _LINES_AT_ONCE:
                lines.append(self._lines.popleft())
        return lines

    def _text(self, line: RequestLine) -> str:
        *facts, at_s, correlation_id = line
        told = "" if correlation_id is None else json.dumps(correlation_id)
        if self._is_json:
            more = told and f', "correlation_id": {told}'
            return _JSON % (*facts, more, self._time(at_s))
        more = told and f" correlation_id={told}"
        return _CONSOLE_HEAD % self._time(at_s) + _CONSOLE % (*facts, more)

    def _time(self, at_s: float) -> str:
        second = int(at_s)
        if second != self._second:
            self._second, self._second_text = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second_text}.{int((at_s - second) * 1e6):06d}Z"


def _to_stderr(text: str) -> bool:
    """Past Python's own stream, whose lock others need who must not wait. False: there is no room, or nobody there."""
    try:
        if not _has_room():
            return False
        left = text.encode()
        while left:
            left = left[os.write(_STDERR, left) :]
    except OSError:  # the reader is gone: no reason to end the writer's thread, or to answer 500
        return False
    return True


def _has_room() -> bool:
    """Half of a pipe is for the other lines: who writes them waits where there is no room, and everybody with him."""
    if not stat.S_ISFIFO(os.fstat(_STDERR).st_mode):
        return True
    unread = int.from_bytes(fcntl.ioctl(_STDERR, termios.FIONREAD, bytes(4)), sys.byteorder)
    return unread < fcntl.fcntl(_STDERR, fcntl.F_GETPIPE_SZ) // 2 if hasattr(fcntl, "F_GETPIPE_SZ") else True
