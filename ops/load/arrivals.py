"""When requests are sent: a closed loop sends the next when an answer is there, an open loop when the clock says so.

An open loop counts the latency of a request from the moment it was due. A generator that falls behind, or has no
connection left, would otherwise hide the waiting it causes (coordinated omission; Tene, "How NOT to measure latency").
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_OPEN_CONNECTIONS = 1024  # of an open loop; beyond them requests wait here, and their wait counts


@dataclass(frozen=True, slots=True)
class Limits:
    """When the load is over: after so many requests or so many seconds, whichever comes first."""

    total: int | None = None
    duration_s: float | None = None

    def are_reached(self, num_sent: int, at_s: float) -> bool:
        return (self.total is not None and num_sent >= self.total) or (
            self.duration_s is not None and at_s >= self.duration_s
        )


class Arrivals(Protocol):
    """Times are seconds since the start of the load."""

    max_connections: int

    def take(self, elapsed_s: float, num_in_flight: int) -> float | None:
        """The time at which the next request was due, if it is due; each is given out once."""

    def next_s(self) -> float | None:
        """When the next one will be due; None where that depends on the answers."""


class ClosedLoop:
    """So many clients, each with one request at a time."""

    def __init__(self, concurrency: int) -> None:
        self.max_connections = concurrency

    def take(self, elapsed_s: float, num_in_flight: int) -> float | None:
        return elapsed_s if num_in_flight < self.max_connections else None

    def next_s(self) -> float | None:
        return None


class OpenLoop:
    """A Poisson process: exponential gaps, drawn from a seed."""

    def __init__(self, rate_per_s: float, seed: int, max_connections: int) -> None:
        self.max_connections = max_connections
        self._rate_per_s = rate_per_s
        self._rng = random.Random(seed)
        self._due_s = self._rng.expovariate(rate_per_s)

    def take(self, elapsed_s: float, num_in_flight: int) -> float | None:
        if self._due_s > elapsed_s or num_in_flight >= self.max_connections:
            return None
        due_s = self._due_s
        self._due_s += self._rng.expovariate(self._rate_per_s)
        return due_s

    def next_s(self) -> float | None:
        return self._due_s


class VariedLoop:
    """A Poisson process whose rate goes straight from point to point (second, rate), and stays at the last one.

    By thinning: drawn at the highest rate, kept with the share of it that is wanted then (Lewis & Shedler, 1979).
    """

    def __init__(self, points: Sequence[tuple[float, float]], seed: int, max_connections: int) -> None:
        self.max_connections = max_connections
        self._points = points
        self._highest_per_s = max(rate for _, rate in points)
        self._rng = random.Random(seed)
        self._due_s = 0.0
        self._draw()

    def rate_per_s(self, at_s: float) -> float:
        """What is wanted at that second."""
        (begin_s, rate), *rest = self._points
        for end_s, next_rate in rest:
            if at_s < end_s:
                return rate + (next_rate - rate) * max(0.0, at_s - begin_s) / (end_s - begin_s)
            begin_s, rate = end_s, next_rate
        return rate

    def fall(self, at_s: float, rate_per_s: float) -> None:
        """Set the rate from that second on; the points behind it are forgotten."""
        earlier = [point for point in self._points if point[0] < at_s]
        self._points = [*earlier, (at_s, self.rate_per_s(at_s)), (at_s + 1e-6, rate_per_s)]

    def take(self, elapsed_s: float, num_in_flight: int) -> float | None:
        if self._due_s > elapsed_s or num_in_flight >= self.max_connections:
            return None
        due_s = self._due_s
        self._draw()
        return due_s

    def next_s(self) -> float | None:
        return self._due_s

    def _draw(self) -> None:
        while True:
            self._due_s += self._rng.expovariate(self._highest_per_s)
            if self._rng.random() * self._highest_per_s < self.rate_per_s(self._due_s):
                return


def arrivals_of(concurrency: int | None, rate_per_s: float | None, seed: int) -> Arrivals:
    """An open loop where a rate is given, else a closed one."""
    if rate_per_s is None:
        return ClosedLoop(concurrency)
    return OpenLoop(rate_per_s, seed, MAX_OPEN_CONNECTIONS)
