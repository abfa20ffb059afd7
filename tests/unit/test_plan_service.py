"""The whole system on a virtual clock: nothing is lost, chance repeats, the real policies decide."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from ops.load.arrivals import ClosedLoop, OpenLoop
from ops.plan.clock import VirtualClock
from ops.plan.costs import Calibration, StageCost, WorkerCost
from ops.plan.mix import Mix, SentenceSize
from ops.plan.service import Deployment, Outcome, Service
from scheduler.settings import Settings
from tests.known_costs import COSTS, SENTENCES, TEXTS

FREE = StageCost(0.0, 0.0)


def run(deployment: Deployment, traffic: object, mix: Mix = SENTENCES, number: int = 2000) -> Outcome:
    return Service(deployment, COSTS, mix).run(traffic, number)


def only_worker(seconds: float) -> Calibration:
    """Iterations take so long whatever they compute; nothing else takes any time."""
    return replace(COSTS, worker=WorkerCost(seconds, 0.0), api=FREE, redis=FREE, hop_s=0.0)


@pytest.mark.parametrize("mix", [SENTENCES, TEXTS], ids=["sentences", "texts"])
def test_every_request_ends_once_and_none_is_refused(mix: Mix) -> None:
    outcome = Service(Deployment(workers=2, replicas=2), COSTS, mix).run(OpenLoop(300.0, 1), 1000, warm_up=0.0)

    assert (len(outcome.latencies_s), outcome.num_refused) == (1000, 0)
    assert min(outcome.latencies_s) > 0


@pytest.mark.parametrize("clients", [1, 16, 64])
def test_littles_law_holds_in_a_closed_loop(clients: int) -> None:
    outcome = run(Deployment(cores=2), ClosedLoop(clients))

    mean_s = sum(outcome.latencies_s) / len(outcome.latencies_s)
    assert outcome.throughput_per_s * mean_s == pytest.approx(clients, rel=0.05)


@pytest.mark.parametrize(
    ("rate_per_s", "output", "iterations"),
    [(2.0, 1, 1.0), (0.001, 5, 5.0), (2000.0, 1, 1.5)],
    ids=["alone", "alone, five tokens", "among many"],
)
def test_what_comes_during_an_iteration_is_in_the_next_one(rate_per_s: float, output: int, iterations: float) -> None:
    """Half of one until its end, and its own."""
    mix = Mix(((SentenceSize(10, output),),))

    outcome = Service(Deployment(), only_worker(0.01), mix).run(OpenLoop(rate_per_s, 1), 6000)

    assert sum(outcome.latencies_s) / len(outcome.latencies_s) == pytest.approx(0.01 * iterations, rel=0.05)


def test_the_policy_of_the_mode_decides() -> None:
    static = Settings(mode="static", max_batch=4, max_wait_ms=20.0)

    waiting = Service(Deployment(settings=static), COSTS, SENTENCES).run(OpenLoop(5.0, 1), 200)
    at_once = Service(Deployment(), COSTS, SENTENCES).run(OpenLoop(5.0, 1), 200)

    assert waiting.quantile_s(0.5) - at_once.quantile_s(0.5) == pytest.approx(0.02, rel=0.2)


def test_what_is_beyond_the_queues_bound_is_refused_and_p95_is_none() -> None:
    small = Settings(max_queue_requests=50)

    outcome = run(Deployment(settings=small), OpenLoop(20_000.0, 1), number=4000)

    assert outcome.num_refused > 0
    assert outcome.quantile_s(0.95) == inf


def test_the_busy_shares_are_the_work_that_was_asked_for() -> None:
    outcome = run(Deployment(workers=2, replicas=2), OpenLoop(500.0, 1), number=4000)

    assert outcome.busy["api"] == pytest.approx(500.0 * COSTS.api.of_request(1) / 2, rel=0.05)


def test_a_queue_that_grows_has_no_p95_however_short_one_looks() -> None:
    most = run(Deployment(), ClosedLoop(64)).throughput_per_s

    for number in (1000, 3000):
        assert run(Deployment(), OpenLoop(1.3 * most, 1), number=number).quantile_s(0.95) == inf
    assert run(Deployment(), OpenLoop(0.8 * most, 1)).quantile_s(0.95) < inf


def test_three_processes_on_two_cores_take_half_as_long_again() -> None:
    clock, ends_s = VirtualClock(num_cores=2), []
    for _ in range(3):
        clock.compute(1.0, lambda: ends_s.append(clock.now))

    while clock.step():
        pass

    assert ends_s == pytest.approx([1.5, 1.5, 1.5])
