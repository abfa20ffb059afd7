"""Starting and ending child processes so that none outlives the process that started it.

Every child leads a session of its own (the terminal's Ctrl-C reaches only us, who stop the children in order)
and asks the kernel to be killed when we die, by any signal. Linux only; elsewhere the second part is missing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scheduler.settings import PREFIX

_PR_SET_PDEATHSIG = 1
_START_PATIENCE_S = 60.0
STOP_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.05


def die_with_parent(death_signal: int = signal.SIGKILL, parent_pid: int | None = None) -> None:
    """Ask the kernel to signal this process when the thread that started it ends.

    With `parent_pid` a parent that died before the call is noticed too. Survives exec.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if parent_pid is not None and os.getppid() != parent_pid:
        os.kill(os.getpid(), death_signal)


def notify_ready() -> None:
    """Say so to systemd, where it started this process and waits for it (sd_notify(3))."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if name:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.sendto(b"READY=1", name.replace("@", "\0", 1) if name.startswith("@") else name)


@contextmanager
def foreground() -> Iterator[None]:
    """Be alone in the foreground of the terminal, if we are in it: Ctrl-C then reaches us and not our parent.

    Ctrl-Z is off meanwhile, because nobody would notice that we are stopped.
    """
    group_before = os.getpgrp()
    try:
        has_terminal = os.tcgetpgrp(0) == group_before != os.getpid()
    except OSError:
        has_terminal = False
    if not has_terminal:
        yield
        return
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTTOU, signal.SIGTSTP)}
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    try:
        yield
    finally:
        with suppress(OSError):  # the terminal may be gone
            os.tcsetpgrp(0, group_before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def spawn(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    output: IO[bytes] | int | None = None,
    errors: IO[bytes] | int | None = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a child that leads its own session and dies with us.

    `output` takes its stdout, and its stderr unless `errors` names another place (None: ours).

    Call it from a thread that lives as long as the child shall: the kernel watches the thread, not the process.
    """
    return subprocess.Popen(
        list(command),
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output if errors == subprocess.STDOUT else errors,
        start_new_session=True,
        preexec_fn=_death_watch(os.getpid()),
    )


def _death_watch(parent_pid: int) -> Callable[[], None]:
    # ctypes is imported and the library opened before the fork: the child then only makes the system call.
    ctypes.CDLL(None)
    return lambda: die_with_parent(signal.SIGKILL, parent_pid)


def kill_group(pid: int) -> None:
    """SIGKILL all that still lives of the session a child led, its own children included."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def stop(process: subprocess.Popen[bytes], patience_s: float) -> int:
    """SIGTERM, then SIGKILL for all that is left of the session; returns the exit status."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    kill_group(process.pid)
    return process.wait()


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Ours without the variables of our options, and `more`: what a child does must not depend on what the shell has
    set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)} | dict(more)


@contextmanager
def running(
    command: Sequence[str], env: Mapping[str, str], why_not: Callable[[], str | None]
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A child and its output, once `why_not` has no reason left. Raises RuntimeError, with what it said, where it does
    not start."""
    with tempfile.TemporaryFile() as log:
        process = spawn(command, env, output=log)
        try:
            deadline = time.monotonic() + _START_PATIENCE_S
            while (reason := why_not()) is not None:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"`{' '.join(command)}` does not start ({reason}):\n{said(log)}")
                time.sleep(_LOOK_EVERY_S)
            yield process, log
        finally:
            stop(process, STOP_PATIENCE_S)


def said(log: IO[bytes]) -> str:
    """All that a child has written so far. The place at which it writes on stays."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode(errors="replace")


@dataclass(slots=True)
class Member:
    """One process of a system, whose output goes to a file."""

    name: str
    command: Sequence[str]
    env: dict[str, str]
    log: Path
    started: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self.started is not None
        return self.started

    @property
    def is_alive(self) -> bool:
        return self.started is not None and self.started.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.started = spawn(self.command, self.env, output=log)

    def kill(self) -> None:
        """SIGKILL for the whole process group: a replica's master and its worker."""
        if self.is_alive:
            kill_group(self.process.pid)

    def stop(self, patience_s: float) -> None:
        if self.started is not None:
            stop(self.started, patience_s)

    def said(self) -> str:
        """How its output ends, in one line."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.is_file() else []
        return f"{self.name} said: {' | '.join(lines[-3:]) or 'nothing'}"


def miniserve_command(*arguments: str) -> list[str]:
    """How to start another `miniserve` process so that `ps` shows it as `miniserve <role>`."""
    for script in (Path(sys.argv[0]), Path(sys.executable).with_name("miniserve")):
        if script.name == "miniserve" and script.is_file():
            return [sys.executable, str(script.absolute()), *arguments]
    return [sys.executable, "-m", "ops.cli", *arguments]
