"""When requests are sent: a closed loop sends the next when an answer is there, an open loop when the clock says so.

An open loop counts the latency of a request from the moment it was due. A generator that falls behind, or has no
connection left, would otherwise hide the waiting it causes (coordinated omission; Tene, "How NOT to measure latency").
The clock may be a virtual one: ops/plan serves the same arrivals.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

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


class ClosedLoop:
    """So many clients, each with one request at a time."""

    is_open = False

    def __init__(self, concurrency: int) -> None:
        self.max_connections = concurrency

    def draw(self, now_s: float) -> float:
        return now_s


class OpenLoop:
    """A Poisson process of one rate."""

    is_open = True

    def __init__(self, rate_per_s: float, seed: int, max_connections: int = MAX_OPEN_CONNECTIONS) -> None:
        self.max_connections = max_connections
        self._rate_per_s, self._rng, self._due_s = rate_per_s, random.Random(seed), 0.0

    def draw(self, now_s: float) -> float:
        """The time at which the next request is due, whatever the time is now; each is given out once."""
        self._due_s += self._rng.expovariate(self._rate_per_s)
        return self._due_s


Arrivals = ClosedLoop | OpenLoop  # `draw` gives seconds since the start of the load


def arrivals_of(concurrency: int, rate_per_s: float | None, seed: int) -> Arrivals:
    """An open loop where a rate is given, else a closed one."""
    return ClosedLoop(concurrency) if rate_per_s is None else OpenLoop(rate_per_s, seed)
