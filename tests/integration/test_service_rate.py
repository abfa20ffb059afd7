"""How fast a worker is, as its reports say and every API replica hears."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.observations import Observations
from tests.mailbox_house import RedisHouse, a_request, an_answer
from worker.status import WorkerStatus

ROOM = 10  # requests of 42 tokens that run at once


class SimulatedWorker:
    """Runs requests of two iterations one by one, each iteration as long as a test says, on a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        policy = ContinuousBatching(BatchLimits(kv_budget_tokens=42 * ROOM, max_slots=64, max_iteration_tokens=512))
        self._engine = SimpleNamespace(policy=policy, observations=Observations())
        self.status = WorkerStatus(self._engine, lambda: self.now_s)
        self.status.report()

    def work(self, seconds: float, iteration_s: float) -> None:
        observations = self._engine.observations
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            observations.sums.add_iteration(10, 0, iteration_s)
            observations.sums.add_iteration(0, 1, iteration_s)
            observations.sums.add_request(a_request("a"), len(an_answer("a").output_ids), queue_s=0.0)
            self._pass(2 * iteration_s)

    def rest(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self._pass(1.0)

    def _pass(self, seconds: float) -> None:
        self.now_s += seconds
        self.status.report()


def full_rate(iteration_s: float) -> float:
    """In reserved tokens: of `ROOM` requests each ends with its second iteration."""
    return 42 * ROOM / (2 * iteration_s)


def test_time_without_work_does_not_count_as_slowness(house: RedisHouse) -> None:
    worker = SimulatedWorker()
    for _ in range(5):
        worker.work(seconds=1.0, iteration_s=0.1)
        worker.rest(seconds=5.0)
    rates = []
    for rest_s in (0.0, 3600.0):  # of an hour without work what was known is left
        worker.rest(rest_s)
        reporting = house.worker(worker.status.report)
        rates.append(house.api().status().service_rate_tokens_per_s)
        reporting.close()

    assert rates == [pytest.approx(full_rate(0.1), rel=0.05)] * 2


def test_the_rate_is_that_of_the_last_minute(house: RedisHouse) -> None:
    worker = SimulatedWorker()
    worker.work(seconds=300.0, iteration_s=0.5)
    worker.work(seconds=75.0, iteration_s=0.1)  # about that: it is counted in reports
    house.worker(worker.status.report)

    assert house.api().status().service_rate_tokens_per_s == pytest.approx(full_rate(0.1), rel=0.05)


def test_the_rates_of_all_workers_are_added_and_go_with_them(house: RedisHouse) -> None:
    rates = []
    for iteration_s in (0.1, 0.2):
        worker = SimulatedWorker()
        worker.work(seconds=5.0, iteration_s=iteration_s)
        last = house.worker(worker.status.report)
        rates.append(house.api().status().service_rate_tokens_per_s)
    last.close()
    rates.append(house.api().status().service_rate_tokens_per_s)

    one, other = full_rate(0.1), full_rate(0.2)
    assert rates == [pytest.approx(rate, rel=0.05) for rate in (one, one + other, one)]
