"""What happened between two moments: differences of numbers that only grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from operator import gt
from typing import Any

from scheduler.capacity.observed import Moment

_SLACK_S = 0.5  # moments are a second apart, more or less: a window takes the one next to its begin
MIN_SAMPLES = 100  # accepted within the window; fewer say nothing about Little's law
MOST_UNSTEADY = 0.05  # by how much of the arrivals the departures of the window may differ
_SHORTEST_S = 0.1  # shorter ones give no rate: what the processes count comes in once a second


@dataclass(frozen=True, slots=True)
class Window(Moment):
    """The differences of two moments. It is empty where there is only one."""

    @property
    def seconds(self) -> float:
        return self.at_s

    def per_second(self, number: float) -> float:
        return number / self.seconds if self.seconds >= _SHORTEST_S else 0.0

    @property
    def is_steady(self) -> bool:
        """Enough came, and about as many ended: a queue that grows or drains is far from any long-run average."""
        return self.accepted >= MIN_SAMPLES and abs(self.accepted - self.ended) <= MOST_UNSTEADY * self.accepted


def rising(history: Sequence[Moment], now: Moment) -> list[Moment]:
    """The latest moments, oldest first, through which no number falls.

    A Redis that was emptied, or lost the last second of its file, counts from zero: rows before that do not count.
    """
    moments, growing = [now], _growing(now)
    for earlier in reversed(history):
        if earlier.at_s >= moments[-1].at_s:
            continue  # a row twice, or a clock that was set back
        before, growing = growing, _growing(earlier)
        if any(map(gt, growing, before)):
            break
        moments.append(earlier)
    return moments[::-1]


def last_seconds(moments: Sequence[Moment], seconds: float) -> Window:
    """Return the window from the oldest moment that is not longer ago until the last one."""
    now = moments[-1]
    begin = next(moment for moment in moments if now.at_s - moment.at_s <= seconds + _SLACK_S)
    return between(begin, now)


def between(begin: Moment, end: Moment) -> Window:
    """All that happened from one moment to the other."""
    return Window(*[_grown(getattr(begin, spec.name), getattr(end, spec.name)) for spec in fields(Moment)])


def _grown(begin: Any, end: Any) -> Any:
    if isinstance(end, Mapping):
        return {name: value - begin.get(name, 0.0) for name, value in end.items()}
    return end - begin


def _growing(moment: Moment) -> tuple[float, ...]:
    sums = moment.iterations
    counts = (moment.area_s, moment.stay_s, moment.accepted, moment.refused, moment.ended)
    return (*counts, sums.get("n", 0.0), sums.get("t", 0.0), sums.get("requests", 0.0))
