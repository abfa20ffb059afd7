"""The terminal while `miniserve top` has it: the keys, the signals, and its earlier state, always restored.

Everything that wakes the screen ends as a byte in one pipe: a signal, a new frame. So a single select() waits for all
of it, and for a key.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUIT_KEYS = b"qQ"


def has_keys() -> bool:
    """Standard input may be a file, or closed."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def keys_at_once() -> Iterator[None]:
    """Standard input key by key and without echo, where it is a terminal; put back at the end."""
    if not has_keys():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSANOW)
        yield
    finally:
        # What was typed meanwhile was for this screen: the shell shall not run it.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


class Waker:
    """Waits for a key, a signal, a call of `wake` or the end of a time; a context, which owns the signals meanwhile."""

    def __init__(self) -> None:
        self.has_to_end = False
        self.has_to_suspend = False
        self._fds: list[int] = [sys.stdin.fileno()] if has_keys() else []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Waker:
        self._readable, self._writable = os.pipe()
        for end in (self._readable, self._writable):
            os.set_blocking(end, False)
        for number in (*_ENDS, signal.SIGTSTP, signal.SIGWINCH):
            self._handlers[number] = signal.signal(number, self._on_signal)
        self._wakeup_fd = signal.set_wakeup_fd(self._writable, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        """The pipe stays open: the reader's thread may still write to it."""
        signal.set_wakeup_fd(self._wakeup_fd)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def wake(self) -> None:
        """Wake the screen from any thread. A full pipe wakes as well as a longer one."""
        with suppress(BlockingIOError):
            os.write(self._writable, b"\0")

    def wait(self, timeout_s: float) -> None:
        ready, _, _ = select.select([self._readable, *self._fds], [], [], timeout_s)
        if self._readable in ready:
            os.read(self._readable, 4096)
        if any(fd in ready for fd in self._fds):
            self._read_keys()

    def suspend(self) -> None:
        """Stop this process, as Ctrl-Z means it; returns when it goes on."""
        self.has_to_suspend = False
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._on_signal)

    def _read_keys(self) -> None:
        """No byte, or an error, means that the terminal is gone."""
        try:
            pressed = os.read(self._fds[0], 64)
        except OSError:
            pressed = b""
        if not pressed or any(key in pressed for key in _QUIT_KEYS):
            self.has_to_end = True

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.has_to_end |= number in _ENDS
        self.has_to_suspend |= number == signal.SIGTSTP
