"""Alerts: rules over what is observed, and when each is raised and cleared.

A rule is raised once its condition has held for a while, and cleared once a lower bar has been kept for a while, so
that a value that trembles about the limit tells nobody twice. Pure: the time comes as an argument.
ops/observe/monitor.py asks again and again; ops/deploy/prometheus/rules.yml says the same in Prometheus' words, and a
test compares the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from scheduler.capacity.measure import AUDIT_S, Capacity, Goals
from scheduler.capacity.observed import Observed
from scheduler.capacity.window import Window, last_seconds, rising

RUNBOOK = "docs/operations.md"
REDIS_UNREACHABLE = "redis-unreachable"
# For a Redis without maxmemory: more than a full queue and ten minutes of kept answers take.
ASSUMED_MAX_MEMORY_BYTES = 1 << 30
DEAD_LETTERS_WINDOW_S = 600.0
START_S = 10.0  # for the first worker to come, where none was seen yet or Redis was away
MIN_SAMPLES = 100  # accepted within the window; fewer say nothing about Little's law
MOST_UNSTEADY = 0.05  # by how much of the arrivals the departures of the window may differ


class Severity(Enum):
    """WARNING: act today. CRITICAL: users are hurt now, or will be within minutes."""

    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules look at. While Redis does not answer nothing else is known."""

    observed: Observed | None = None
    capacity: Capacity | None = None
    new_dead_letters: int = 0  # within DEAD_LETTERS_WINDOW_S
    is_starting: bool = False  # the first worker is still to come, or to come back


@dataclass(frozen=True, slots=True)
class Bars:
    """Raised above one bar, cleared at or below another, each held for its time."""

    raise_above: float
    clear_at: float
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True, slots=True)
class Rule:
    """`read` gives None where nothing is known: then nothing changes, and no time counts."""

    name: str  # also of its entry in the runbook
    severity: Severity
    bars: Bars
    read: Callable[[Situation], float | None]
    raised: str  # sentence with value, limit and remedy
    cleared: str  # sentence with value

    @property
    def runbook(self) -> str:
        return f"{RUNBOOK}#{self.name}"

    def sentence(self, value: float, situation: Situation, is_raised: bool = True) -> str:
        text = self.raised if is_raised else self.cleared
        return text.format(value=value, limit=self.bars.raise_above, remedy=_more_workers(situation))


@dataclass(frozen=True, slots=True)
class Alert:
    """One that is raised, as it stands now."""

    rule: Rule
    value: float
    sentence: str
    since: float


@dataclass(frozen=True, slots=True)
class Change:
    """An alert has just been raised or cleared; value and sentence are those that did it."""

    alert: Alert
    is_raised: bool
    at: float


class _Watch:
    """One rule and where it stands."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.alert: Alert | None = None
        self._turned_at: float | None = None  # since when the value is beyond the bar that would change something

    def look(self, situation: Situation, now: float) -> Change | None:
        value = self.rule.read(situation)
        if value is None or not self._is_beyond(value):
            self._turned_at = None
        elif self._turned_at is None:
            self._turned_at = now
        if value is None:
            return None
        if self._turned_at is not None and now - self._turned_at >= self._hold_s():
            return self._turn(value, situation, now)
        if self.alert is not None:
            self.alert = Alert(self.rule, value, self.rule.sentence(value, situation), self.alert.since)
        return None

    def _is_beyond(self, value: float) -> bool:
        bars = self.rule.bars
        return value > bars.raise_above if self.alert is None else value <= bars.clear_at

    def _hold_s(self) -> float:
        return self.rule.bars.raise_after_s if self.alert is None else self.rule.bars.clear_after_s

    def _turn(self, value: float, situation: Situation, now: float) -> Change:
        raised, self._turned_at = self.alert, None
        since = raised.since if raised else now
        alert = Alert(self.rule, value, self.rule.sentence(value, situation, raised is None), since)
        self.alert = None if raised else alert
        return Change(alert, raised is None, now)


class Alerts:
    """All rules and where they stand. Times are of one clock that only goes forward."""

    def __init__(self, goals: Goals) -> None:
        self._watches = [_Watch(rule) for rule in rules(goals)]
        self._dead_letters: deque[tuple[float, int]] = deque()
        self._has_seen_worker = False
        self._starts_until: float | None = None

    @property
    def raised(self) -> tuple[Alert, ...]:
        return tuple(watch.alert for watch in self._watches if watch.alert is not None)

    def evaluate(self, observed: Observed | None, capacity: Capacity | None, now: float) -> tuple[Change, ...]:
        """What has changed; both are None while Redis does not answer."""
        grown = self._new_dead_letters(observed.dead_letters, now) if observed is not None else 0
        is_starting = self._is_starting(observed, now)
        situation = Situation(observed, None if is_starting else capacity, grown, is_starting)
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
        """Not at once, so that answers that are missed now and then hide no outage of the workers."""
        return any(alert.rule.name == REDIS_UNREACHABLE for alert in self.raised)

    def _new_dead_letters(self, num: int, now: float) -> int:
        """How many more than the fewest of the window. Those that were there before we looked are no news."""
        letters = self._dead_letters
        while letters and letters[-1][1] >= num:  # so that the numbers ascend, and the first is the fewest
            letters.pop()
        letters.append((now, num))
        while letters[0][0] < now - DEAD_LETTERS_WINDOW_S:
            letters.popleft()
        return num - letters[0][1]


def rules(goals: Goals) -> tuple[Rule, ...]:
    """All of them, the worst first."""
    return (*_outage_rules(), *_load_rules(goals), *_health_rules())


def _outage_rules() -> tuple[Rule, ...]:
    return (
        Rule(
            REDIS_UNREACHABLE, Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=1.0, clear_after_s=2.0),
            read=lambda situation: float(situation.observed is None),
            raised="Redis has not answered for a second: start it again, or mend the way to it. "
                   "No request is accepted meanwhile.",
            cleared="Redis answers again.",
        ),
        Rule(
            "no-live-worker", Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=0.0, clear_after_s=1.0),
            read=_workers_missing,
            raised="{value:.0f} worker is missing, none is live: start one. What was accepted, and what still "
                   "comes, waits for it and ends in 504 at its deadline.",
            cleared="A worker is live again.",
        ),
    )  # fmt: skip


def _load_rules(goals: Goals) -> tuple[Rule, ...]:
    slo_s, most = goals.slo_wait_s, goals.max_utilization
    return (
        Rule(
            "predicted-wait-long", Severity.CRITICAL,
            Bars(raise_above=slo_s, clear_at=0.8 * slo_s, raise_after_s=5.0, clear_after_s=15.0),
            read=_of_workers(lambda capacity: capacity.predicted_wait_s),
            raised="Who comes now waits {value:,.3g} s in the queue, the limit is {limit:g} s: {remedy}.",
            cleared="Who comes now waits {value:,.3g} s in the queue.",
        ),
        Rule(
            "utilization-high", Severity.WARNING,
            Bars(raise_above=most, clear_at=most - 0.1, raise_after_s=2.0, clear_after_s=15.0),
            read=_of_workers(lambda capacity: capacity.utilization),
            raised="The workers are {value:.0%} used, the limit is {limit:.0%}: {remedy}, before the queue grows.",
            cleared="The workers are {value:.0%} used.",
        ),
    )  # fmt: skip


def _health_rules() -> tuple[Rule, ...]:
    return (
        Rule(
            "redis-memory-high", Severity.CRITICAL,
            Bars(raise_above=0.8, clear_at=0.7, raise_after_s=5.0, clear_after_s=15.0),
            read=_of_observed(_memory_used),
            raised="Redis uses {value:.0%} of its memory, the limit is {limit:.0%}: raise its maxmemory, "
                   "or keep answers for less long. When it is full no request is accepted.",
            cleared="Redis uses {value:.0%} of its memory.",
        ),
        Rule(
            "dead-letters-growing", Severity.WARNING,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=0.0, clear_after_s=0.0),
            read=lambda situation: None if situation.observed is None else float(situation.new_dead_letters),
            raised="{value:g} new dead letters within ten minutes, the limit is {limit:g}: "
                   "read what the workers log of them, then requeue or drop them.",
            cleared="No new dead letter for ten minutes.",
        ),
        Rule(
            "littles-law-broken", Severity.WARNING,
            Bars(raise_above=0.1, clear_at=0.05, raise_after_s=30.0, clear_after_s=30.0),
            read=_judged_residual,
            raised="L and lambda W differ by {value:.0%}, the limit is {limit:.0%}: "
                   "requests are lost, or a metric is wrong; compare the books.",
            cleared="L and lambda W differ by {value:.0%}.",
        ),
    )  # fmt: skip


def _of_observed(value: Callable[[Observed], float]) -> Callable[[Situation], float | None]:
    return lambda situation: None if situation.observed is None else value(situation.observed)


def _of_workers(value: Callable[[Capacity], float]) -> Callable[[Situation], float | None]:
    """Nothing where none is live: that is an alert of its own, and "add a worker" would be a second voice for it."""

    def read(situation: Situation) -> float | None:
        if situation.capacity is None or situation.observed is None or not situation.observed.workers:
            return None
        return value(situation.capacity)

    return read


def _workers_missing(situation: Situation) -> float | None:
    if situation.observed is None or situation.is_starting:
        return None
    return float(not situation.observed.workers)


def _memory_used(observed: Observed) -> float:
    return observed.redis_memory_bytes / (observed.redis_max_memory_bytes or ASSUMED_MAX_MEMORY_BYTES)


def _judged_residual(situation: Situation) -> float | None:
    """0 where the window says nothing."""
    if (observed := situation.observed) is None or situation.capacity is None:
        return None
    window = last_seconds(rising(observed.history, observed.now), AUDIT_S)
    return situation.capacity.residual if is_steady(window) else 0.0


def is_steady(window: Window) -> bool:
    """Enough came, and about as many ended: a queue that grows or drains is far from any long-run average."""
    return window.accepted >= MIN_SAMPLES and abs(window.accepted - window.ended) <= MOST_UNSTEADY * window.accepted


def _more_workers(situation: Situation) -> str:
    if situation.observed is None or situation.capacity is None:
        return "add a worker"
    num_live, num_needed = len(situation.observed.workers), situation.capacity.workers_needed
    if num_needed <= num_live:  # what waits now has come already
        return f"add a worker, or lower the load ({num_live} live)"
    missing = num_needed - num_live
    return f"add {missing} worker{'s' if missing > 1 else ''} ({num_needed} needed, {num_live} live)"
