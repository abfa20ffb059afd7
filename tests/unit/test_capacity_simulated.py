"""What `measure` says, against what really happened to the requests of a simulated service.

The service runs the real batching policy on a virtual clock; full, it serves about 70 requests in a second.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt
from statistics import mean

import pytest

from scheduler.batching import BatchLimits
from scheduler.capacity.measure import MAX_UTILIZATION, Capacity, measure
from scheduler.settings import Settings
from tests.simulated_service import Service, VariedLoop

SETTINGS = Settings()
LIMITS = BatchLimits(kv_budget_tokens=4096, max_slots=256, max_iteration_tokens=512)
FULL_PER_S = 71.0  # 81 requests of 50 reserved tokens at once, an iteration of 0.257 s with them, 4.4 tokens out
WARM_UP_S = 15.0
SEED = 1


def a_service(*load: float | tuple[float, float], seed: int = SEED, **more: object) -> Service:
    """`load`: the share of what one worker can do; by (second, share), between them straight lines."""
    points = [point if isinstance(point, tuple) else (0.0, point) for point in load]
    arrivals = VariedLoop([(at_s, share * FULL_PER_S) for at_s, share in points], seed)
    return Service(arrivals, seed=seed, **more)


def watched(service: Service, last_s: float) -> list[tuple[float, Capacity]]:
    """What is said at the end of every second, from the warm-up on."""
    seen = [(observed.now.at_s, observed) for observed in service.seconds(last_s)]
    return [(at_s, measure(observed, SETTINGS)) for at_s, observed in seen if at_s >= WARM_UP_S]


def wait_s(service: Service, begin_s: float, end_s: float) -> float:
    """Mean of the requests that came in this time and were scheduled since."""
    service.waits.sort()
    first, last = (bisect_left(service.waits, (at_s,)) for at_s in (begin_s, end_s))
    return mean(waited_s for _, waited_s in service.waits[first:last])


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

    predicted_s = mean(capacity.predicted_wait_s for _, capacity in said)

    assert predicted_s == pytest.approx(wait_s(service, WARM_UP_S, case.last_s), rel=case.bar)
    if case.limits != LIMITS:  # most of the wait is for a place, and the bound is known
        assert predicted_s > 0.04
        assert 0.75 < mean(capacity.utilization for _, capacity in said) < 1.0


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_the_utilization_is_the_share_of_what_full_batches_serve(load: float) -> None:
    """Off by 5 %, and by the chance of so many arrivals."""
    said = watched(a_service(load), 75.0)

    bar = 0.05 + 3 / sqrt(60 * load * FULL_PER_S)
    assert mean(capacity.utilization for _, capacity in said) == pytest.approx(load, rel=bar)


def test_a_ramp_past_capacity_is_told_in_time_and_foretold_well() -> None:
    """From 0.2 to 1.4 of capacity in two minutes, and back at once."""
    bar = 0.1 + 3 * 0.3 / sqrt(20)
    points = [(0.0, 0.2), (20.0, 0.2), (140.0, 1.4), (140.1, 0.2)]
    service = a_service(*points)
    said = watched(service, 240.0)

    told_s = next(at_s for at_s, capacity in said if capacity.utilization > 0.8)
    assert VariedLoop(points, 0).rate_per_s(told_s) < 0.95
    for begin_s in (60.0, 80.0, 100.0, 120.0):  # 0.6 to 1.4
        predicted_s = mean(capacity.predicted_wait_s for at_s, capacity in said if begin_s <= at_s < begin_s + 20)
        assert predicted_s == pytest.approx(wait_s(service, begin_s, begin_s + 20), rel=bar)
    assert max(capacity.predicted_wait_s for _, capacity in said) > 5.0
    assert max(capacity.residual for _, capacity in said) < 0.1  # nothing was lost, on the way down neither
    _, last = said[-1]
    assert (last.utilization < 0.4, last.predicted_wait_s < 0.05, last.workers_needed) == (True, True, 1)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_the_books_of_a_sound_system_obey_littles_law(load: float) -> None:
    """No alert at any second, and L = lambda W but for the chance of the arrivals of a minute."""
    said = watched(a_service(load), 75.0)

    residuals = [capacity.residual for _, capacity in said]
    assert max(residuals) < 0.1 and mean(residuals) < 0.03
    _, last = said[-1]
    bar = 0.02 + 3 / sqrt(60 * load * FULL_PER_S)
    assert last.number_in_system == pytest.approx(last.time_in_system_s * load * FULL_PER_S, rel=bar)


@pytest.mark.parametrize("every", [5, 30])
def test_lost_requests_show_in_littles_law(every: int) -> None:
    """One in so many ends without a word: it stays in the number, and no time is ever told of it."""
    said = watched(a_service(0.5, lose=lambda number: number % every == 0), 75.0)

    assert said[-1][1].residual > 0.1


def test_the_workers_needed_keep_the_wait_and_the_utilization() -> None:
    """What one overloaded worker asks for is then tried."""
    needed = watched(a_service(1.9), 25.0)[-1][1].workers_needed

    said = watched(a_service(1.9, num_workers=needed), 35.0)

    assert needed == 3
    assert mean(capacity.utilization for _, capacity in said) < MAX_UTILIZATION
    assert mean(capacity.predicted_wait_s for _, capacity in said) < SETTINGS.slo_ms / 1e3


def test_a_queue_as_long_as_the_bound_is_served_within_the_deadline() -> None:
    """All at once, as many as the bound says: the last one is answered just in time."""
    bound = watched(a_service(0.8), 35.0)[-1][1]
    burst_per_s = 20 * FULL_PER_S
    burst_s = bound.queue_bound_tokens / 50 / burst_per_s
    service = a_service(20.0, (burst_s, 20.0), (burst_s + 0.001, 0.0001))
    for _ in service.seconds(40.0):
        pass

    longest_s = max(stay_s for _, stay_s in service.stays)

    assert longest_s == pytest.approx(SETTINGS.request_timeout_s, rel=0.15)
