"""What `measure` says, against what really happened to the requests of a simulated service.

The service runs the real batching policy on a virtual clock; full, it serves about 70 requests in a second.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import sqrt
from statistics import mean

import pytest

from ops.load.arrivals import OpenLoop
from scheduler.batching import BatchLimits
from scheduler.capacity.alerts import Alerts
from scheduler.capacity.measure import Capacity, measure
from scheduler.settings import Settings
from tests.simulated_service import Service

SETTINGS = Settings()
LIMITS = BatchLimits(kv_budget_tokens=4096, max_slots=256, max_iteration_tokens=512)
FULL_PER_S = 71.0  # 81 requests of 50 reserved tokens at once, an iteration of 0.257 s with them, 4.4 tokens out
WARM_UP_S = 15.0
SEED = 1


def a_service(load: float, **more: object) -> Service:
    """`load`: the share of what one worker can do."""
    return Service(OpenLoop(load * FULL_PER_S, SEED).draw, seed=SEED, **more)


def watched(service: Service, last_s: float) -> list[Capacity]:
    """What is said at the end of every second, from the warm-up on."""
    seen = [observed for observed in service.seconds(last_s) if observed.now.at_s >= WARM_UP_S]
    return [measure(observed, SETTINGS) for observed in seen]


@dataclass(frozen=True)
class Case:
    """A load of so many virtual seconds. `bias`: by which the prediction is off in the long run, at most.

    Means over T seconds differ by chance, too: with a standard error of spread / sqrt(T). The spread is 0.2 to 0.5, and
    0.95 in the last case (90 and 405 s, eight seeds).
    """

    load: float
    bias: float = 0.07
    spread: float = 0.3
    last_s: float = 105.0
    num_workers: int = 1
    limits: BatchLimits = LIMITS

    @property
    def bar(self) -> float:
        return self.bias + 3 * self.spread / sqrt(self.last_s - WARM_UP_S)


CASES = {
    "0.1": Case(0.1), "0.5": Case(0.5), "0.8": Case(0.8), "0.95": Case(0.95),
    "two workers": Case(1.6, num_workers=2, last_s=60.0), "four workers": Case(2.0, num_workers=4, last_s=60.0),
    "eight to ten at once, for tokens bind": Case(0.45, 0.1, 0.5, limits=BatchLimits(512, 256, 512)),
    "eight at once, for slots bind": Case(0.45, 0.1, 0.5, limits=BatchLimits(4096, 8, 512)),
    "few prompts an iteration: 28 requests/s are all": Case(24 / 71, 0.2, 0.5, limits=BatchLimits(4096, 256, 512, 30)),
    "one prompt an iteration: 22 requests/s are all": Case(
        20 / 71, 0.35, 1.0, 405.0, limits=BatchLimits(4096, 256, 512, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_predicted_wait_is_the_measured_one(name: str) -> None:
    case = CASES[name]
    service = a_service(case.load, num_workers=case.num_workers, limits=case.limits)
    said = watched(service, case.last_s)

    predicted_s = mean(capacity.predicted_wait_s for capacity in said)

    measured_s = mean(waited_s for came_s, waited_s in service.waits if came_s >= WARM_UP_S)
    assert predicted_s == pytest.approx(measured_s, rel=case.bar)
    if case.limits != LIMITS:  # most of the wait is for a place, and the bound is known
        assert predicted_s > 0.04
        assert 0.75 < mean(capacity.utilization for capacity in said) < 1.0


def test_the_alert_comes_before_the_overload() -> None:
    """Every second a worker is offered one more hundredth of what it can do."""
    dice, alerts, raised_at = random.Random(SEED), Alerts(SETTINGS), {}
    service = Service(lambda now_s: now_s + dice.expovariate((0.2 + now_s / 100) * FULL_PER_S), seed=SEED)

    for observed in service.seconds(120.0):
        for change in alerts.evaluate(observed, measure(observed, SETTINGS), observed.now.at_s):
            raised_at[change.rule.name] = 0.2 + observed.now.at_s / 100

    assert 0.8 < raised_at["utilization-high"] < 0.95


@pytest.mark.parametrize("every", [5, 30])
def test_lost_requests_show_in_littles_law(every: int) -> None:
    """One in so many ends without a word: it stays in the number, and no time is ever told of it."""
    said = watched(a_service(0.5, lose=lambda number: number % every == 0), 75.0)

    assert said[-1].residual > 0.1
