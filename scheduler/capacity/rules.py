"""The rules of the alerts: what each looks at, and the bars and times of raising and clearing it.

ops/deploy/prometheus/rules.yml says the same in Prometheus' words, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from scheduler.capacity.health import Health
from scheduler.capacity.measure import AUDIT_S, MAX_UTILIZATION, Capacity
from scheduler.capacity.observed import Moment, Observed
from scheduler.capacity.window import last_seconds, rising
from scheduler.settings import Settings

RUNBOOK = "docs/operations.md"
REDIS_UNREACHABLE = "redis-unreachable"
# For a Redis without maxmemory: more than a full queue and ten minutes of kept answers take.
ASSUMED_MAX_MEMORY_BYTES = 1 << 30
NO_PROGRESS_AFTER_S = 2.0


class Severity(Enum):
    """WARNING: act today. CRITICAL: users are hurt now, or will be within minutes."""

    WARNING = "warning"
    CRITICAL = "critical"


class Asks(Enum):
    """When a rule's value is known. Otherwise nothing changes, and no time counts."""

    ALWAYS = "always"
    WHILE_REDIS_ANSWERS = "while-redis-answers"
    ONCE_STARTED = "once-started"  # nor while Redis refuses writes: who cannot write cannot report
    OF_LIVE_WORKERS = "of-live-workers"  # none live is an alert of its own; "add a worker" would be a second one for it


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules look at."""

    observed: Observed
    capacity: Capacity
    health: Health
    new_dead_letters: int = 0  # within DEAD_LETTERS_WINDOW_S
    is_starting: bool = False  # the first worker is still to come, or to come back
    is_redis_away: bool = False  # nothing else is known then

    def knows(self, asks: Asks) -> bool:
        if asks is Asks.ALWAYS or self.is_redis_away:
            return asks is Asks.ALWAYS
        if asks is Asks.ONCE_STARTED:
            return not self.is_starting and not self.health.redis_refuses_writes
        return asks is Asks.WHILE_REDIS_ANSWERS or bool(self.observed.workers)


REDIS_AWAY = Situation(Observed(Moment(0.0)), Capacity(), Health(), is_redis_away=True)


@dataclass(frozen=True, slots=True)
class Bars:
    """Raised above one bar, cleared at or below another, each held for its time."""

    raise_above: float
    clear_at: float
    raise_after_s: float
    clear_after_s: float


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked at, and what is said of it."""

    name: str  # also of its entry in the runbook
    severity: Severity
    bars: Bars
    of: Callable[[Situation], float]
    raised: str  # sentence with value, limit and remedy
    cleared: str  # sentence with value
    asks: Asks = Asks.WHILE_REDIS_ANSWERS

    @property
    def runbook(self) -> str:
        return f"{RUNBOOK}#{self.name}"

    def read(self, situation: Situation) -> float | None:
        """The value; None where it is not known."""
        return float(self.of(situation)) if situation.knows(self.asks) else None

    def sentence(self, value: float, situation: Situation, is_raised: bool = True) -> str:
        text = self.raised if is_raised else self.cleared
        foreign = situation.observed.foreign_workers[:3]
        found = {"remedy": _more_workers(situation), "names": "".join(f", {name}" for name in foreign)}
        return text.format(value=value, limit=self.bars.raise_above, **found)


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule whose value is beyond its bar."""

    name: str  # also of its entry in the runbook
    severity: str  # critical or warning
    value: float
    sentence: str  # with value, limit and remedy
    runbook: str


def holding(situation: Situation, settings: Settings) -> tuple[Alert, ...]:
    """Every rule whose value is beyond its upper bar, the worst first: for a view without a memory."""
    read = [(rule, rule.read(situation)) for rule in rules(settings)]
    return tuple(
        Alert(rule.name, rule.severity.value, value, rule.sentence(value, situation), rule.runbook)
        for rule, value in read
        if value is not None and value > rule.bars.raise_above
    )


def rules(settings: Settings) -> tuple[Rule, ...]:
    """All of them, the worst first."""
    return (*_outage_rules(), *_load_rules(settings), *_health_rules())


def _outage_rules() -> tuple[Rule, ...]:
    return (
        Rule(
            REDIS_UNREACHABLE, Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=1.0, clear_after_s=2.0),
            of=lambda situation: situation.is_redis_away,
            raised="Redis has not answered for a second: start it, or mend the connection to it. "
                   "No request is accepted meanwhile.",
            cleared="Redis answers again.",
            asks=Asks.ALWAYS,
        ),
        Rule(
            "redis-refuses-writes", Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=1.0, clear_after_s=2.0),
            of=lambda situation: situation.health.redis_refuses_writes,
            raised="Redis takes no write (1; the limit is 0), mostly because it cannot save: free space on its disk.",
            cleared="Redis takes writes again.",
        ),
        Rule(
            "no-live-worker", Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=0.0, clear_after_s=1.0),
            of=lambda situation: not situation.observed.workers,
            raised="{value:.0f} worker is missing, none is live: start one. Accepted and new "
                   "requests wait for it, and end in 504 at their deadline.",
            cleared="A worker is live again.",
            asks=Asks.ONCE_STARTED,
        ),
        Rule(
            "no-live-api", Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=5.0, clear_after_s=1.0),
            of=lambda situation: not situation.observed.num_api_replicas,
            raised="{value:.0f} API process is missing, none reports: start one. No request is accepted meanwhile.",
            cleared="An API process reports again.",
            asks=Asks.ONCE_STARTED,
        ),
        Rule(
            "no-progress", Severity.CRITICAL,
            Bars(raise_above=NO_PROGRESS_AFTER_S, clear_at=1.0, raise_after_s=1.0, clear_after_s=2.0),
            of=lambda situation: 0.0 if situation.is_starting else situation.health.stuck_s,
            raised="Sentences wait, the first for {value:.3g} s, the limit is {limit:g} s, and no live worker answers "
                   "one: restart the workers, and keep their logs.",
            cleared="The workers answer what waits.",
        ),
        Rule(
            "answers-failing", Severity.CRITICAL,
            Bars(raise_above=0.05, clear_at=0.01, raise_after_s=1.0, clear_after_s=5.0),
            of=lambda situation: situation.health.failing_share,
            raised="{value:.0%} of the answers are 5xx or missing, the limit is {limit:.0%}: "
                   "read the logs of API and workers, and compare the deadlines with the load.",
            cleared="{value:.0%} of the answers are 5xx or missing.",
        ),
        Rule(
            "redis-evicts", Severity.CRITICAL,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=1.0, clear_after_s=1.0),
            of=lambda situation: situation.health.redis_evicts,
            raised="Redis deletes requests when it is full (1; the limit is {limit:g}): "
                   "set its maxmemory-policy to noeviction.",
            cleared="Redis evicts nothing.",
        ),
    )  # fmt: skip


def _load_rules(settings: Settings) -> tuple[Rule, ...]:
    slo_s, most = settings.slo_ms / 1e3, MAX_UTILIZATION
    return (
        Rule(
            "predicted-wait-long", Severity.CRITICAL,
            Bars(raise_above=slo_s, clear_at=0.8 * slo_s, raise_after_s=5.0, clear_after_s=15.0),
            of=lambda situation: situation.capacity.predicted_wait_s,
            raised="A new request waits {value:,.3g} s in the queue, the limit is {limit:g} s: {remedy}.",
            cleared="A new request waits {value:,.3g} s in the queue.",
            asks=Asks.OF_LIVE_WORKERS,
        ),
        Rule(
            "waiting-long", Severity.CRITICAL,
            Bars(raise_above=4 * slo_s, clear_at=2 * slo_s, raise_after_s=3.0, clear_after_s=10.0),
            of=_waited_s,
            raised="Sentences wait {value:,.3g} s in the queue, the limit is {limit:g} s: "
                   "see whether workers are missing, or take too few at once.",
            cleared="Sentences wait {value:,.3g} s in the queue.",
            asks=Asks.OF_LIVE_WORKERS,
        ),
        Rule(
            "utilization-high", Severity.WARNING,
            Bars(raise_above=most, clear_at=most - 0.1, raise_after_s=2.0, clear_after_s=15.0),
            of=lambda situation: situation.capacity.utilization,
            raised="The workers are {value:.0%} used, the limit is {limit:.0%}: {remedy}, before the queue grows.",
            cleared="The workers are {value:.0%} used.",
            asks=Asks.OF_LIVE_WORKERS,
        ),
        Rule(
            "api-late", Severity.WARNING,
            Bars(raise_above=slo_s / 5, clear_at=slo_s / 10, raise_after_s=2.0, clear_after_s=10.0),
            of=lambda situation: situation.health.api_late_s,
            raised="An event waits {value:,.3g} s for its turn in the API, the limit is {limit:g} s: the API is the "
                   "bottleneck; add a replica, or give it another core.",
            cleared="An event waits {value:,.3g} s for its turn in the API.",
        ),
    )  # fmt: skip


def _health_rules() -> tuple[Rule, ...]:
    return (
        Rule(
            "foreign-worker", Severity.WARNING,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=0.0, clear_after_s=5.0),
            of=lambda situation: situation.health.foreign_workers,
            raised="RQ's own workers take requests and fail them ({value:g}{names}; limit {limit:g}): stop them.",
            cleared="No worker of RQ's takes requests any more.",
        ),
        Rule(
            "redis-memory-high", Severity.CRITICAL,
            Bars(raise_above=0.7, clear_at=0.6, raise_after_s=5.0, clear_after_s=15.0),  # ENQUEUE refuses all above 3/4
            of=_memory_used,
            raised="Redis uses {value:.0%} of its memory, the limit is {limit:.0%}: raise its maxmemory, "
                   "or keep answers for less long. Above 75% no request is accepted.",
            cleared="Redis uses {value:.0%} of its memory.",
        ),
        Rule(
            "tokens-leaked", Severity.WARNING,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=2.0, clear_after_s=2.0),
            of=lambda situation: situation.health.leaked_tokens,
            raised="{value:,.0f} tokens of the KV caches are reserved for nothing that runs, the limit is {limit:g}: "
                   "restart the workers before their room is gone, and keep their logs.",
            cleared="All reserved tokens belong to something that runs.",
        ),
        Rule(
            "dead-letters-growing", Severity.WARNING,
            Bars(raise_above=0.0, clear_at=0.0, raise_after_s=0.0, clear_after_s=0.0),
            of=lambda situation: situation.new_dead_letters,
            raised="{value:g} new dead letters within ten minutes, the limit is {limit:g}: "
                   "read the workers' logs, then requeue or drop them.",
            cleared="No new dead letter for ten minutes.",
        ),
        Rule(
            "littles-law-broken", Severity.WARNING,
            Bars(raise_above=0.1, clear_at=0.05, raise_after_s=30.0, clear_after_s=30.0),
            of=_judged_residual,
            raised="L and lambda W differ by {value:.0%}, the limit is {limit:.0%}: "
                   "requests are lost, or a metric is wrong; compare the counts.",
            cleared="L and lambda W differ by {value:.0%}.",
        ),
    )  # fmt: skip


def _waited_s(situation: Situation) -> float:
    """0 where no worker answers anything: that is an alert of its own."""
    health = situation.health
    is_stuck = health.stuck_s > NO_PROGRESS_AFTER_S
    return 0.0 if is_stuck else max(situation.observed.oldest_waiting_s, health.queue_time_s)


def _memory_used(situation: Situation) -> float:
    most_bytes = situation.observed.redis_max_memory_bytes or ASSUMED_MAX_MEMORY_BYTES
    return situation.observed.redis_memory_bytes / most_bytes


def _judged_residual(situation: Situation) -> float:
    """0 where the window says nothing."""
    window = last_seconds(rising(situation.observed.history, situation.observed.now), AUDIT_S)
    return situation.capacity.residual if window.is_steady else 0.0


def _more_workers(situation: Situation) -> str:
    num_live, num_needed = len(situation.observed.workers), situation.capacity.workers_needed
    missing = num_needed - num_live
    if missing <= 0:  # what waits now has come already
        return f"add a worker, or lower the load ({num_live} live)"
    return f"add {missing} worker{'s' if missing > 1 else ''} ({num_needed} needed, {num_live} live)"
