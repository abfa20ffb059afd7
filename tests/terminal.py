"""A real terminal (a pseudo-terminal) for a test: what runs in it, what it has shown, and how it is set.

A small process stands where a shell would: it leads the session and gives the terminal to the command. Without it the
kernel would put the terminal in order itself when the command ends, and would not let it stop at Ctrl-Z.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.pace import patient
from tests.running_system import is_running

IS_OVER_S = patient(30.0)
_SHELL = """
import fcntl, os, signal, subprocess, sys, termios
def take_the_terminal():
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = subprocess.Popen(sys.argv[1:], process_group=0, preexec_fn=take_the_terminal)
print(f"<pid {child.pid}>", flush=True)
status = child.wait()
os.tcsetpgrp(0, os.getpid())
print(f"<exit {status}>", flush=True)
signal.pause()
"""


class Terminal:
    """A context manager. Its size is 24 lines of 80 characters, until it is changed."""

    def __init__(self, command: list[str]) -> None:
        self.shown = b""
        self._master, slave = pty.openpty()
        self.resize(24, 80)
        self.before = self.settings()
        self._shell = subprocess.Popen(
            [sys.executable, "-c", _SHELL, *command], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(slave)
        self.wait(lambda: self._told("pid") is not None)
        self.pid = int(self._told("pid"))

    def settings(self) -> list:
        return termios.tcgetattr(self._master)

    def takes_keys_at_once(self) -> bool:
        return not self.settings()[3] & termios.ICANON

    def resize(self, num_lines: int, width: int) -> None:
        termios.tcsetwinsize(self._master, (num_lines, width))

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def shows(self, text: str) -> bool:
        return text.encode() in self.shown

    def wait(self, is_so: Callable[[], bool]) -> None:
        """Until it is; reads what is shown meanwhile, so that the command never waits for the terminal."""
        deadline_s = time.monotonic() + IS_OVER_S
        while not is_so():
            assert time.monotonic() < deadline_s, self.shown[-4000:].decode(errors="replace")
            if select.select([self._master], [], [], 0.05)[0]:
                self.shown += os.read(self._master, 65536)

    def wait_for_exit(self) -> int:
        """All that the command showed is read then."""
        self.wait(lambda: self._told("exit") is not None)
        return int(self._told("exit"))

    def hang_up(self) -> None:
        os.close(self._master)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._told("exit") is None and is_running(self.pid):
            os.kill(self.pid, 9)
        self._shell.kill()
        self._shell.wait()
        with suppress(OSError):
            os.close(self._master)

    def _told(self, word: str) -> str | None:
        found = re.search(rb"<%b (-?\d+)>" % word.encode(), self.shown)
        return found and found[1].decode()
