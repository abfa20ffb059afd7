"""The scheduling policy keeps its promises under seeded random workloads."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, Delivery
from tests.workload import Workload, delivery, names


class ContinuousWorkload(Workload):
    """A request joins at the next iteration, and who does not fit is not overtaken."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.deferred: list[str] = []

    def a_policy(self) -> ContinuousBatching:
        budget, slots, iteration = (self.random.randint(*bounds) for bounds in ((24, 400), (1, 40), (16, 64)))
        return ContinuousBatching(BatchLimits(budget, slots, iteration, self.random.choice([0, 20, 65_536])))

    def check_plan(self, plan: StepPlan) -> None:
        limits, joined, deferred = self.policy.limits, 0, ""
        rows, tokens = len(plan.decodes), self.tokens_of(self.running)
        for name in self.waiting[: limits.max_slots - len(self.running)]:
            tokens += self.arrived[name].reserved_tokens
            if tokens > limits.kv_budget_tokens:
                deferred = name
                break
            rows += len(self.arrived[name].request.prompt_ids)
            is_held_up = plan.decodes and joined and rows > limits.max_prefill_rows
            if rows > limits.max_iteration_tokens or is_held_up:
                break
            joined += 1
        assert (names(plan.prefills), plan.deferred_id) == (self.waiting[:joined], deferred)
        self.deferred += [deferred] if deferred and deferred not in self.deferred else []


@pytest.mark.parametrize("seed", range(80))
def test_random_workloads_keep_every_promise_of_the_policy(seed: int) -> None:
    workload = ContinuousWorkload(seed)

    workload.run()

    ended = [answer.request_id for iteration in workload.log for answer in iteration.answers]
    assert sorted([*ended, *workload.cancelled]) == sorted(workload.arrived), "nobody lost, nobody starved, none twice"
    assert workload.observations.counters.deferred_for_budget == len(workload.deferred), "once, however long it waits"


def test_of_requests_that_ended_long_before_their_deadline_nothing_is_kept() -> None:
    batch = ContinuousBatching(BatchLimits(64, 8, 64))
    for number in range(1000):
        batch.submit(replace(delivery(f"r{number}"), left_s=30.0), now=0.0)
        batch.commit(batch.plan(now=0.0), [EOS_ID], now=0.1)

    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Delivery) and each.request_id.startswith("r9")]

    assert kept == [] and batch.late_ids(now=99.0) == []


def test_an_id_that_comes_again_has_the_deadline_it_came_with() -> None:
    batch = ContinuousBatching(BatchLimits(64, 8, 64))
    batch.submit(replace(delivery("again"), left_s=2.0), now=0.0)
    batch.cancel("again")
    batch.submit(replace(delivery("again"), left_s=9.0), now=1.0)

    assert [batch.late_ids(now) for now in (2.0, 10.0)] == [[], ["again"]]
