"""Time that passes only in the calculation, and the cores that processes share.

Of n processes that have something to compute each gets min(1, cores / n) of a core: processor sharing, which is what
the kernel's scheduler does to processes of equal weight (Kleinrock, Queueing Systems 2, 1976, 4.4).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

Then = Callable[[], None]


class VirtualClock:
    """A heap of moments, and one of computations by the work after which each ends."""

    def __init__(self, num_cores: float = inf) -> None:
        self.now = 0.0
        self._num_cores = num_cores
        self._moments: list[tuple[float, int, Then]] = []
        self._ends: list[tuple[float, int, Then]] = []
        self._done_s = 0.0  # work that a process has got which has computed since the start
        self._number = 0  # what is due at one moment happens in the order in which it was asked for

    def after(self, delay_s: float, then: Then) -> None:
        self._number += 1
        heappush(self._moments, (self.now + delay_s, self._number, then))

    def compute(self, work_s: float, then: Then) -> None:
        """Call `then` once so much work is done; how long that takes depends on the others."""
        self._number += 1
        heappush(self._ends, (self._done_s + work_s, self._number, then))

    def step(self) -> bool:
        """Go to the next event; False where there is none."""
        moments, ends = self._moments, self._ends
        at_s = moments[0][0] if moments else inf
        if ends:
            speed = min(1.0, self._num_cores / len(ends))
            end_s = self.now + max(0.0, ends[0][0] - self._done_s) / speed
            if end_s < at_s:
                self._done_s, self.now = max(self._done_s, ends[0][0]), end_s
                heappop(ends)[2]()
                return True
            self._done_s += (at_s - self.now) * speed
        elif not moments:
            return False
        self.now = at_s
        heappop(moments)[2]()
        return True


class Process:
    """Does one thing after the other, first come, first served."""

    def __init__(self, clock: VirtualClock) -> None:
        self.busy_s = 0.0  # work, without the time for which others had the core
        self._clock = clock
        self._asked: deque[tuple[float, Then]] = deque()  # the first is under way

    def put(self, work_s: float, then: Then) -> None:
        """Do this when its turn comes; `then` sends the message."""
        self.busy_s += work_s
        self._asked.append((work_s, then))
        if len(self._asked) == 1:
            self._clock.compute(work_s, self._end)

    def _end(self) -> None:
        self._asked[0][1]()
        self._asked.popleft()
        if self._asked:
            self._clock.compute(self._asked[0][0], self._end)
