"""Keeps child processes alive and ends them in order; knows nothing of what they do.

A child that dies is started again at once; one that keeps dying, once in 2 s at most, counted from start to start.
Signals arrive through a pipe (`Signals`), so that waiting ends the moment a child dies or Ctrl-C is pressed, without
polling and without work in signal handlers.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType

from ops.run import processes

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
STEADY_S = 10.0  # a child that lived this long counts as sound again
MOST_QUICK_DEATHS = 3  # in a row; then a child is hopeless
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


@dataclass(slots=True)
class Child:
    """One process to keep alive. Its state changes only in the methods below."""

    name: str
    launch: Callable[[], subprocess.Popen[bytes]]
    patience_s: float  # between SIGTERM and SIGKILL
    started: subprocess.Popen[bytes] | None = None
    num_quick_deaths: int = 0
    started_at: float = 0.0
    due_at: float | None = field(default=None)  # when to start it again; None while it lives
    is_optional: bool = False  # the others are of use without it: it is given up where they would be hopeless
    has_ended: bool = False  # given up
    last_words: Callable[[], str] = lambda: "what it said stands above"
    remedy: str = ""  # what a person can do where it keeps dying

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self.started is not None
        return self.started

    def start(self, now: float) -> None:
        self.started = self.launch()
        self.started_at, self.due_at = now, None

    def is_alive(self) -> bool:
        return self.started is not None and self.started.poll() is None

    @property
    def is_hopeless(self) -> bool:
        """It died that often without ever running soundly."""
        return self.num_quick_deaths >= MOST_QUICK_DEATHS

    def note_death(self, now: float) -> str:
        """Plan the restart; returns how it ended, in words."""
        processes.kill_group(self.process.pid)  # what it started must not hold its port or its registration
        sound = now - self.started_at >= STEADY_S
        self.num_quick_deaths = 0 if sound else self.num_quick_deaths + 1
        self.has_ended = self.is_optional and self.is_hopeless
        # From start to start: one that is killed after it has served comes back at once, however often.
        between_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** max(0, self.num_quick_deaths - 1))
        self.due_at = max(now + FIRST_PAUSE_S, self.started_at + between_s)
        return ending(self.process.returncode)


def ending(returncode: int) -> str:
    return f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit status {returncode}"


class Supervisor:
    """Starts children in the order given and stops them stage by stage."""

    def __init__(
        self, children: Sequence[Child], stop_stages: Sequence[Sequence[Child]], say: Callable[[str], None]
    ) -> None:
        self._children = children
        self._stop_stages = stop_stages
        self._say = say

    def start(self) -> None:
        for child in self._children:
            if child.started is None:
                child.start(time.monotonic())

    def revive(self) -> float:
        """Notice deaths, start again what is due; returns for how long nothing will be due."""
        now = time.monotonic()
        kept = [child for child in self._children if not child.has_ended]
        for child in kept:
            if child.due_at is None and not child.is_alive():
                how = child.note_death(now)
                what_next = "given up, the others go on" if child.has_ended else "starting it again"
                advice = f"; {child.remedy}" if child.remedy and child.is_hopeless else ""
                self._say(f"{child.name} (pid {child.process.pid}) ended with {how}; {what_next}{advice}")
            elif child.due_at is not None and child.due_at <= now:
                child.start(now)
        due = [child.due_at for child in kept if child.due_at is not None and not child.has_ended]
        return min((due_at - now for due_at in due), default=60.0)

    def hopeless(self) -> Child | None:
        """A child that cannot be kept alive and cannot be done without."""
        return next((child for child in self._children if child.is_hopeless and not child.is_optional), None)

    def stop(self, signals: Signals) -> None:
        """SIGTERM stage by stage; SIGKILL for what outlasts its patience, at once after another stop signal."""
        stops_before = signals.num_stops
        for stage in self._stop_stages:
            living = [child for child in stage if child.is_alive()]
            if living:
                self._say(f"stopping {', '.join(child.name for child in living)}")
            for child in living:
                child.process.terminate()
            deadline = time.monotonic() + max((child.patience_s for child in living), default=0.0)
            while any(child.is_alive() for child in living) and signals.num_stops == stops_before:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    break
                signals.wait(min(remaining, 0.2))
            for child in stage:
                self._end(child)

    def _end(self, child: Child) -> None:
        if child.started is None or child.has_ended:  # long ago: its number may be another's by now
            return
        if child.is_alive():
            self._say(f"{child.name} did not stop in time; killed")
        processes.kill_group(child.process.pid)
        child.process.wait()
