"""The autoscaler of Kubernetes, and the rules that it is given: pure, for the simulated day.

The numbers are those of ops/deploy/kubernetes/components/keda/worker.yaml; a test compares them. The steps are those of
the HorizontalPodAutoscaler (autoscaling/v2): the greatest wish of all triggers, a tolerance, a window in which the
greatest earlier wish counts before anything is removed, and limits of pods a period.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from scheduler.capacity.measure import Capacity, Goals
from scheduler.capacity.observed import Observed

LOOK_EVERY_S = 15.0  # --horizontal-pod-autoscaler-sync-period, its default
_TOLERANCE = 0.1  # of the controller: smaller differences change nothing
QUEUE_LENGTH = 5.0  # waiting requests a worker: the default of KEDA's scaler for lists
BUSY = 0.8  # utilization beyond which a long wait asks for one worker more


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How fast the number of pods may change."""

    least: int = 2
    most: int = 20
    up_percent: float = 100.0
    up_pods: int = 2
    up_period_s: float = 15.0
    down_pods: int = 1
    down_period_s: float = 60.0
    down_window_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rule may look at; `capacity` is computed only where it asks."""

    observed: Observed
    capacity: Callable[[], Capacity]
    goals: Goals
    kv_budget_tokens: int


Rule = Callable[[Seen], float]  # workers that it wishes for; a fraction counts as one more


def by_arithmetic(seen: Seen) -> float:
    """The rule of the manifests: workers needed, reserved tokens, and one more while busy workers let others wait."""
    capacity = seen.capacity()
    waits_long = capacity.predicted_wait_s > seen.goals.slo_wait_s and capacity.utilization > BUSY
    return max(
        capacity.workers_needed,
        seen.observed.reserved_tokens / seen.kv_budget_tokens,
        (len(seen.observed.workers) + 1) * waits_long,
    )


def by_queue_length(seen: Seen) -> float:
    """What is often done: so many waiting requests a worker."""
    return seen.observed.num_waiting / QUEUE_LENGTH


RULES: dict[str, Rule] = {"rule of the manifests": by_arithmetic, "queue length alone": by_queue_length}


@dataclass(slots=True)
class Autoscaler:
    """Remembers its wishes and what it did."""

    behaviour: Behaviour = Behaviour()
    _wishes: deque[tuple[float, int]] = field(default_factory=deque)
    _changes: deque[tuple[float, int]] = field(default_factory=deque)

    def next_number(self, now: float, current: int, wish: float) -> int:
        """How many pods there are to be, of which there are `current` now."""
        behaviour = self.behaviour
        wanted = current if current and abs(wish / current - 1.0) <= _TOLERANCE else ceil(wish)
        wanted = min(behaviour.most, max(behaviour.least, wanted))
        self._wishes.append((now, wanted))
        while self._wishes[0][0] < now - behaviour.down_window_s:
            self._wishes.popleft()
        if wanted < current:
            wanted = min(current, max(number for _, number in self._wishes))
        number = min(max(wanted, self._fewest(now, current)), self._greatest(now, current))
        number = min(behaviour.most, max(behaviour.least, number))
        if number != current:
            self._changes.append((now, number - current))
        return number

    def _greatest(self, now: float, current: int) -> int:
        behaviour = self.behaviour
        before = current - sum(change for change in self._lately(now, behaviour.up_period_s) if change > 0)
        return max(before + behaviour.up_pods, ceil(before * (1 + behaviour.up_percent / 100)))

    def _fewest(self, now: float, current: int) -> int:
        removed = -sum(change for change in self._lately(now, self.behaviour.down_period_s) if change < 0)
        return current + removed - self.behaviour.down_pods

    def _lately(self, now: float, period_s: float) -> list[int]:
        longest_s = max(self.behaviour.up_period_s, self.behaviour.down_period_s)
        while self._changes and self._changes[0][0] <= now - longest_s:
            self._changes.popleft()
        return [change for at_s, change in self._changes if at_s > now - period_s]
