"""Alerts: rules over what is observed, and when each is raised and cleared.

A rule is raised once its condition has held for a while, and cleared once a lower bar has been kept for a while, so
that a value that varies about the limit is not reported twice. Pure: the time comes as an argument.
ops/observe/monitor.py evaluates them four times a second.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from scheduler.capacity.health import health_of
from scheduler.capacity.measure import Capacity
from scheduler.capacity.observed import Observed
from scheduler.capacity.rules import REDIS_AWAY, REDIS_UNREACHABLE, Rule, Situation, rules
from scheduler.settings import Settings

DEAD_LETTERS_WINDOW_S = 600.0
START_S = 10.0  # for the first worker to come, where none was seen yet or Redis was away


@dataclass(frozen=True, slots=True)
class Change:
    """An alert has just been raised or cleared; value and sentence are those that did it."""

    rule: Rule
    value: float
    sentence: str
    is_raised: bool
    held_s: float  # for how long it was raised, where it is cleared


class _Watch:
    """One rule and where it stands."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.raised_at: float | None = None
        self._turned_at: float | None = None  # since when the value is beyond the bar that would change something

    def look(self, situation: Situation, now: float) -> Change | None:
        value = self.rule.read(situation)
        if value is None or not self._is_beyond(value):
            self._turned_at = None
        elif self._turned_at is None:
            self._turned_at = now
        if value is None or self._turned_at is None or now - self._turned_at < self._hold_s():
            return None
        held_s, self._turned_at = 0.0 if self.raised_at is None else now - self.raised_at, None
        self.raised_at = now if self.raised_at is None else None
        is_raised = self.raised_at is not None
        return Change(self.rule, value, self.rule.sentence(value, situation, is_raised), is_raised, held_s)

    def _is_beyond(self, value: float) -> bool:
        bars = self.rule.bars
        return value > bars.raise_above if self.raised_at is None else value <= bars.clear_at

    def _hold_s(self) -> float:
        return self.rule.bars.raise_after_s if self.raised_at is None else self.rule.bars.clear_after_s


class Alerts:
    """All rules and where they stand. Times are of one clock that only goes forward."""

    def __init__(self, settings: Settings) -> None:
        self._watches = [_Watch(rule) for rule in rules(settings)]
        self._dead_letters: deque[tuple[float, int]] = deque()
        self._has_seen_worker = False
        self._starts_until: float | None = None

    def evaluate(self, observed: Observed | None, capacity: Capacity | None, now: float) -> tuple[Change, ...]:
        """What has changed; both are None while Redis does not answer."""
        is_starting, situation = self._is_starting(observed, now), REDIS_AWAY
        if observed is not None:
            grown = self._new_dead_letters(observed.dead_letters, now)
            situation = Situation(observed, capacity or Capacity(), health_of(observed), grown, is_starting)
        changes = [watch.look(situation, now) for watch in self._watches]
        return tuple(change for change in changes if change is not None)

    def _is_starting(self, observed: Observed | None, now: float) -> bool:
        """A system that is being started is no outage, nor is one whose workers have to find their Redis again; one
        that lost its workers is, from the first moment."""
        if self._starts_until is None or (observed is None and self._is_redis_told()):
            self._has_seen_worker, self._starts_until = False, now + START_S
        self._has_seen_worker = self._has_seen_worker or (observed is not None and bool(observed.workers))
        return not self._has_seen_worker and now < self._starts_until

    def _is_redis_told(self) -> bool:
        """Whether the loss of Redis is reported: not at once, so that a missed answer hides no outage of workers."""
        return any(watch.rule.name == REDIS_UNREACHABLE and watch.raised_at is not None for watch in self._watches)

    def _new_dead_letters(self, num: int, now: float) -> int:
        """How many more than the fewest of the window. Those that were there before we looked are no news."""
        letters = self._dead_letters
        while letters and letters[-1][1] >= num:  # so that the numbers ascend, and the first is the fewest
            letters.pop()
        letters.append((now, num))
        while letters[0][0] < now - DEAD_LETTERS_WINDOW_S:
            letters.popleft()
        return num - letters[0][1]
