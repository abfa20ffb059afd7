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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from scheduler.settings import PREFIX

_PR_SET_PDEATHSIG = 1


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
    command: Sequence[str], env: Mapping[str, str] | None = None, output: IO[bytes] | int | None = None
) -> subprocess.Popen[bytes]:
    """Start a child that leads its own session and dies with us.

    `output` takes what it writes (None: ours does); of a child with DEVNULL we still show the errors.

    Call it from a thread that lives as long as the child shall: the kernel watches the thread, not the process.
    """
    return subprocess.Popen(
        list(command),
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output == subprocess.DEVNULL else output,
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


def miniserve_command(*arguments: str) -> list[str]:
    """How to start another `miniserve` process so that `ps` shows it as `miniserve <role>`."""
    for script in (Path(sys.argv[0]), Path(sys.executable).with_name("miniserve")):
        if script.name == "miniserve" and script.is_file():
            return [sys.executable, str(script.absolute()), *arguments]
    return [sys.executable, "-m", "ops.cli", *arguments]
