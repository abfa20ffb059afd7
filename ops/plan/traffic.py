"""When requests come, on a virtual clock: at random times, or when a client has its answer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Protocol


class Traffic(Protocol):
    """Times are seconds since the start."""

    def first(self) -> Iterable[float]:
        """When the first requests are due."""

    def next_after(self, due_s: float) -> float | None:
        """When the one behind a request is due that was due then; None where that depends on the answers."""

    def next_when_answered(self, now_s: float) -> float | None:
        """Now, where the client that has just been answered asks again; None where nobody does."""


class Poisson:
    """An open loop: exponential gaps."""

    def __init__(self, rate_per_s: float, seed: int) -> None:
        self._rate_per_s = rate_per_s
        self._dice = random.Random(seed)

    def first(self) -> Iterable[float]:
        return (self._dice.expovariate(self._rate_per_s),)

    def next_after(self, due_s: float) -> float:
        return due_s + self._dice.expovariate(self._rate_per_s)

    def next_when_answered(self, now_s: float) -> None:
        return None


class Clients:
    """A closed loop: so many clients, each with one request at a time."""

    def __init__(self, number: int) -> None:
        self._number = number

    def first(self) -> Iterable[float]:
        return [0.0] * self._number

    def next_after(self, due_s: float) -> None:
        return None

    def next_when_answered(self, now_s: float) -> float:
        return now_s
