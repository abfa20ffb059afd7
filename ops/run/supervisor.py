"""Starts the processes of a system, keeps them alive and ends them in order; knows nothing of what they do.

`up`, the drills, the benchmarks and the tests have it in common. A member that dies is started again at once; one that
keeps dying, once in 2 s at most, counted from start to start.
Signals arrive through a pipe (`Signals`), so that waiting ends the moment a member dies or Ctrl-C is pressed, without
polling and without work in signal handlers.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import IO

from ops.run import processes

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
STEADY_S = 10.0  # a member that lived this long counts as sound again
MOST_QUICK_DEATHS = 3  # in a row; then a member is hopeless
START_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.05
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Counts stop signals and wakes `wait`, which also ends when a child dies."""

    def __init__(self) -> None:
        self.num_stops = 0
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Signals:
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in _STOP_SIGNALS:
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # started with nohup: the closed terminal is no reason to stop
            self._before[number] = signal.signal(number, self._count)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(-1)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, longest_s: float) -> None:
        """Return after a signal or after `longest_s`, whichever comes first."""
        if select.select([self._reader], [], [], max(0.0, longest_s))[0]:
            os.read(self._reader, 4096)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.num_stops += 1


@dataclass(eq=False)
class Member:
    """One process of a system. Its state changes only in the methods below."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] | None = None  # None: ours
    output: IO[bytes] | int | None = None  # as `processes.spawn` takes it; a file can be read by `said`
    patience_s: float = 30.0  # between SIGTERM and SIGKILL
    is_optional: bool = False  # the others are of use without it: it is given up where they would be hopeless
    is_kept: bool = True  # False: it was given up, or taken away, and is not started again when it dies
    started: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    due_at: float | None = None  # when to start it again; None while it lives
    num_quick_deaths: int = 0
    has_died: bool = False  # and was not steady since

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self.started is not None
        return self.started

    @property
    def is_alive(self) -> bool:
        return self.started is not None and self.started.poll() is None

    @property
    def is_hopeless(self) -> bool:
        """It died that often without ever running soundly."""
        return self.num_quick_deaths >= MOST_QUICK_DEATHS

    def start(self) -> None:
        self.started = processes.spawn(self.command, self.env, self.output)
        self.started_at, self.due_at, self.is_kept = time.monotonic(), None, True

    def kill(self) -> None:
        """SIGKILL for the whole session, a replica's master and its workers. It is no death that counts."""
        if self.is_alive:
            self.num_quick_deaths = -1
            processes.kill_group(self.process.pid)

    def stop(self) -> None:
        if self.started is not None:
            processes.stop(self.started, self.patience_s)

    def note_death(self, now: float) -> str:
        """Plan the restart; returns how it ended, in words."""
        processes.kill_group(self.process.pid)  # what it started must not hold its port or its registration
        sound = now - self.started_at >= STEADY_S
        self.num_quick_deaths = 0 if sound else self.num_quick_deaths + 1
        self.is_kept, self.has_died = not (self.is_optional and self.is_hopeless), True
        # From start to start: one that is killed after it has served comes back at once, however often.
        between_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** max(0, self.num_quick_deaths - 1))
        self.due_at = max(now + FIRST_PAUSE_S, self.started_at + between_s)
        return ending(self.process.returncode)

    def said(self) -> str:
        """All that it has written so far to its file. The place at which it writes on stays."""
        if self.output is None or isinstance(self.output, int):
            return ""
        file = self.output.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def last_words(self) -> str:
        """How its output ends, in one line."""
        if self.output is None:
            return "what it said stands above"
        return f"{self.name} said: {' | '.join(self.said().splitlines()[-3:]) or 'nothing'}"


def log_file() -> IO[bytes]:
    """For the output of a member, which `said` reads; it ends with the member."""
    return tempfile.TemporaryFile()  # noqa: SIM115


def ending(returncode: int) -> str:
    return f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit status {returncode}"


@contextmanager
def running(member: Member, why_not: Callable[[], str | None]) -> Iterator[Member]:
    """Start it, wait until `why_not` has no reason left, and stop it after the block; until then it can be read.

    Raises RuntimeError, with what it said, where it does not start.
    """
    with tempfile.TemporaryFile() as member.output:
        try:
            member.start()
            deadline = time.monotonic() + START_PATIENCE_S
            while (reason := why_not()) is not None:
                if not member.is_alive or time.monotonic() > deadline:
                    raise RuntimeError(f"`{' '.join(member.command)}` does not start ({reason}):\n{member.said()}")
                time.sleep(_LOOK_EVERY_S)
            yield member
        finally:
            member.stop()


class Supervisor:
    """Starts members in the order given and stops them stage by stage."""

    def __init__(
        self, members: Sequence[Member], stop_stages: Sequence[Sequence[Member]], say: Callable[[str], None]
    ) -> None:
        self._members = members
        self._stop_stages = stop_stages
        self._say = say

    def start(self) -> None:
        for member in self._members:
            if member.started is None:
                member.start()

    def revive(self) -> float:
        """Notice deaths, start again what is due; returns for how long nothing will be due."""
        now = time.monotonic()
        kept = [member for member in self._members if member.is_kept]
        for member in kept:
            if member.due_at is None and not member.is_alive:
                how = member.note_death(now)
                what_next = "starting it again" if member.is_kept else "given up, the others go on"
                self._say(f"{member.name} (pid {member.process.pid}) ended with {how}; {what_next}")
            elif member.due_at is not None and member.due_at <= now:
                member.start()
            elif member.has_died and member.due_at is None and member.started_at + STEADY_S <= now:
                member.has_died = False
                self._say(f"{member.name} (pid {member.process.pid}) has been running again for {STEADY_S:g} s")
        dying = [member for member in kept if member.has_died]
        due = [member.started_at + STEADY_S if member.due_at is None else member.due_at for member in dying]
        return min((due_at - now for due_at in due), default=60.0)

    def hopeless(self) -> Member | None:
        """One that cannot be kept alive."""
        return next((one for one in self._members if one.is_hopeless and one.is_kept), None)

    def stop(self, signals: Signals | None = None) -> None:
        """SIGTERM stage by stage; SIGKILL for what outlasts its patience, at once after another of these signals."""
        stops_before = signals.num_stops if signals else 0
        for stage in self._stop_stages:
            living = [member for member in stage if member.is_alive]
            if living:
                self._say(f"stopping {', '.join(member.name for member in living)}")
            for member in living:
                member.process.terminate()
            deadline = time.monotonic() + max((member.patience_s for member in living), default=0.0)
            while any(member.is_alive for member in living) and (remaining := deadline - time.monotonic()) > 0:
                if signals is None:
                    time.sleep(_LOOK_EVERY_S)
                elif signals.num_stops == stops_before:
                    signals.wait(min(remaining, 0.2))
                else:
                    break
            for member in stage:
                self._end(member)

    def _end(self, member: Member) -> None:
        if member.started is None or not (member.is_kept or member.is_alive):  # long ago: its number may be another's
            return
        if member.is_alive:
            self._say(f"{member.name} did not stop in time; killed")
        processes.kill_group(member.process.pid)
        member.process.wait()
