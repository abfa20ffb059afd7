"""Standard output and error of a process that never waits for a reader.

A pipe that nobody reads, or a terminal that is stopped, costs lines, which are counted. A thread writes.
"""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import Any

MOST_LINES = 4096  # that wait to be written
_LINES_AT_ONCE = 8  # some 2,500 bytes: a pipe takes 4,096 in one piece, among what other processes write
_WRITE_EVERY_S = 0.1  # lines of the same tenth of a second share a wake-up
logger = logging.getLogger(__name__)

Line = str | Callable[[], str]  # with its end; or what makes one, in the thread that writes


class LineWriter(io.TextIOBase):
    """A text stream over a file descriptor. Any thread may write, a child process its own lines."""

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self.num_dropped = 0
        self.descriptor = descriptor
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """No thread outlives a fork, and its parent writes the lines that it left."""
        self._lines: deque[Line] = deque()
        self._started = threading.Lock()  # held for ever by the one that has started the thread

    def put(self, line: Line) -> None:
        """Write the line soon, or drop it where too many wait."""
        if len(self._lines) >= MOST_LINES:
            self.num_dropped += 1
            return
        self._lines.append(line)
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._run, name="lines", daemon=True).start()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here, not bytes")  # click asks by writing some
        self.put(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self.descriptor)

    def fileno(self) -> int:
        return self.descriptor

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def drain(self, within_s: float = 0.5) -> None:
        """Wait until all is written, but not for a reader that has stalled."""
        deadline_s = monotonic() + within_s
        while self.has_lines and monotonic() < deadline_s:
            sleep(0.005)

    def _run(self) -> None:
        num_reported = self.num_dropped
        while True:
            sleep(_WRITE_EVERY_S)
            while number := min(len(self._lines), _LINES_AT_ONCE):
                text = "".join([_text_of(self._lines[at]) for at in range(number)])
                self._write(text.encode(errors="backslashreplace"))
                for _ in range(number):  # only now: until then they are not written
                    self._lines.popleft()
            if num_new := self.num_dropped - num_reported:
                num_reported += num_new
                logger.warning("log lines were dropped: nobody read them fast enough", extra={"num_dropped": num_new})

    def _write(self, text: bytes) -> None:
        try:
            while text:
                text = text[os.write(self.descriptor, text) :]
        except OSError:  # the reader is gone
            self.num_dropped += text.count(b"\n")


def _text_of(line: Line) -> str:
    try:
        return line if isinstance(line, str) else line()
    except Exception as error:  # one line must not end the thread for all others
        return f"a line of the log could not be made: {type(error).__name__}\n"


def log_line(event: str, level: str, at_s: float, facts: Mapping[str, Any], is_json: bool) -> str:
    """An event as every process logs it, for people or as JSON. For people each fact is one word."""
    at = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if is_json:
        return json.dumps({**facts, "event": event, "level": level, "timestamp": at}, default=repr) + "\n"
    return f"{at} [{level:<9}] {event:<30} {' '.join([f'{name}={value}' for name, value in facts.items()])}\n"


def one_word(value: object) -> str:
    """Quote a value that is not one word: none may look like another field."""
    text = str(value)
    return text if text.isprintable() and not set(text) & set(" =\"'") else json.dumps(text)


STDOUT, STDERR = LineWriter(1), LineWriter(2)
