"""What happened between two moments: differences of numbers that only grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import gt

from scheduler.capacity.observed import Moment

_SLACK_S = 0.5  # moments are a second apart, more or less: a window takes the one next to its begin
MIN_SAMPLES = 100  # accepted within the window; fewer say nothing about Little's law
MOST_UNSTEADY = 0.05  # by how much of the arrivals the departures of the window may differ
_SHORTEST_S = 0.1  # shorter ones give no rate: what the processes count comes in once a second


@dataclass(frozen=True, slots=True)
class Window:
    """Sums over a stretch of time, which is none where there is only one moment."""

    seconds: float = 0.0
    area_s: float = 0.0
    stay_s: float = 0.0
    accepted: int = 0
    refused: int = 0
    ended: int = 0
    done: int = 0
    failed: int = 0
    replies: int = 0
    errors: int = 0
    loop_ticks: int = 0
    loop_late_s: float = 0.0
    iterations: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, float] = field(default_factory=dict)

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
    return Window(
        seconds=end.at_s - begin.at_s,
        area_s=end.area_s - begin.area_s,
        stay_s=end.stay_s - begin.stay_s,
        accepted=end.accepted - begin.accepted,
        refused=end.refused - begin.refused,
        ended=end.ended - begin.ended,
        done=end.done - begin.done,
        failed=end.failed - begin.failed,
        replies=end.replies - begin.replies,
        errors=end.errors - begin.errors,
        loop_ticks=end.loop_ticks - begin.loop_ticks,
        loop_late_s=end.loop_late_s - begin.loop_late_s,
        iterations=_grown(begin.iterations, end.iterations),
        stages=_grown(begin.stages, end.stages),
    )


def _grown(begin: Mapping[str, float], end: Mapping[str, float]) -> dict[str, float]:
    return {name: value - begin.get(name, 0.0) for name, value in end.items()}


def _growing(moment: Moment) -> tuple[float, ...]:
    sums = moment.iterations
    counts = (moment.area_s, moment.stay_s, moment.accepted, moment.refused, moment.ended)
    return (*counts, sums.get("n", 0.0), sums.get("t", 0.0), sums.get("requests", 0.0))
