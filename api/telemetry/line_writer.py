"""Writes lines to standard error or output so that whoever has a line to write never waits for a reader.

A pipe that nobody reads, or a terminal that is stopped, costs lines, which are counted. A thread writes.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import sys
import termios
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic, sleep

MOST_LINES = 4096  # that wait to be written
_LINES_AT_ONCE = 8  # some 2,500 bytes: a pipe takes 4,096 in one piece, among what other processes write
_WRITE_EVERY_S = 0.1
logger = logging.getLogger(__name__)

Line = str | Callable[[], str]  # with its end; or what makes one, in the thread that writes


class LineWriter:
    """The lines of one file descriptor. Any thread may put some, a child process its own."""

    def __init__(self, descriptor: int) -> None:
        self.num_dropped = 0
        self.descriptor = descriptor
        self._num_reported = 0
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """No thread outlives a fork, and its parent writes the lines that it left."""
        self._lines: deque[Line] = deque()
        self._has_thread = self._is_writing = False
        self._starting, self._has_urgent = threading.Lock(), threading.Event()

    @property
    def has_lines(self) -> bool:
        return bool(self._lines) or self._is_writing

    def put(self, line: Line) -> None:
        """Write the line soon, or drop it where too many wait."""
        self.put_later(line)
        self._has_urgent.set()

    def put_later(self, line: Line) -> None:
        """Put the line together with others of the same tenth of a second: for what is written all the time."""
        if len(self._lines) >= MOST_LINES:
            self.num_dropped += 1
            return
        self._lines.append(line)
        if not self._has_thread and self._starting.acquire(blocking=False):  # one that asks meanwhile need not wait
            self._has_thread = True
            threading.Thread(target=self._run, name="lines", daemon=True).start()

    def flush(self, within_s: float = 0.5) -> None:
        """Wait until all is written, but not for a reader that has stalled."""
        deadline_s = monotonic() + within_s
        while self.has_lines and monotonic() < deadline_s:
            sleep(0.005)

    def _run(self) -> None:
        while True:
            self._has_urgent.wait(_WRITE_EVERY_S)
            self._has_urgent.clear()
            self._is_writing = True
            while lines := self._take():
                self._write("".join(lines).encode(errors="backslashreplace"))
            self._is_writing = False
            self._report()

    def _take(self) -> list[str]:
        lines: list[str] = []
        while self._lines and len(lines) < _LINES_AT_ONCE:
            line = self._lines.popleft()
            try:
                lines.append(line if isinstance(line, str) else line())
            except Exception as error:  # one line must not end the thread for all others
                lines.append(f"a line of the log could not be made: {type(error).__name__}\n")
        return lines

    def _write(self, text: bytes) -> None:
        try:
            while not self._has_room():
                sleep(_WRITE_EVERY_S)
            while text:
                text = text[os.write(self.descriptor, text) :]
        except OSError:  # the reader is gone
            self.num_dropped += text.count(b"\n")

    def _has_room(self) -> bool:
        """Leave half of a pipe to others who write to it, and who may wait where there is no room."""
        if not stat.S_ISFIFO(os.fstat(self.descriptor).st_mode) or not hasattr(fcntl, "F_GETPIPE_SZ"):
            return True
        unread = int.from_bytes(fcntl.ioctl(self.descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
        return unread < fcntl.fcntl(self.descriptor, fcntl.F_GETPIPE_SZ) // 2

    def _report(self) -> None:
        if self.num_dropped > self._num_reported:
            num_dropped, self._num_reported = self.num_dropped - self._num_reported, self.num_dropped
            logger.warning("log lines were dropped: nobody read them fast enough", extra={"num_dropped": num_dropped})


STDOUT, STDERR = LineWriter(1), LineWriter(2)
