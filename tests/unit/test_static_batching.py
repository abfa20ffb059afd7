"""The baseline policy under random loads: when a batch is complete, who is in it, when it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, MAX_TOTAL_TOKENS, NO_CAPACITY, Delivery, FinishReason, FreeCapacity
from scheduler.static import StaticBatching
from tests.workload import Workload, delivery, names


class StaticWorkload(Workload):
    """One batch at a time; with a fixed length all its members end together."""

    def a_policy(self) -> ContinuousBatching:
        limits = BatchLimits(self.random.randint(320, 1000), self.random.choice([2, 64]), 8)
        self.fixed_tokens, self.max_wait_s = self.random.choice([0, 0, 2]), self.random.choice([0.0, 0.7, 5.0])
        max_batch = self.random.randint(1, 9)
        self.most = min(max_batch, limits.max_slots)
        return StaticBatching(limits, max_batch, self.max_wait_s, self.fixed_tokens)

    def a_delivery(self, name: str) -> Delivery:
        """Of any length: all prompts of a batch are read in one pass."""
        one = super().a_delivery(name)
        size = self.random.randint(1, 128), self.random.randint(1, 32)
        return replace(delivery(name, *size, one.waited_s), left_s=one.left_s)

    def due_in_s(self) -> float | None:
        """When a batch is full, no further one is sure to fit, or its first has waited since its acceptance."""
        free_tokens = self.policy.limits.kv_budget_tokens - self.tokens_of([*self.running, *self.waiting])
        room = FreeCapacity(max(0, free_tokens), max(0, self.most - len(self.waiting)))
        assert self.policy.free_capacity == (NO_CAPACITY if self.running else room)
        if self.running or not self.waiting:
            return super().due_in_s()
        first = self.arrived[self.waiting[0]]
        left_s = self.max_wait_s - (first.waited_s + self.now_s - first.submitted_s)
        return 0.0 if len(self.waiting) >= self.most or free_tokens < MAX_TOTAL_TOKENS else max(0.0, left_s)

    def check_plan(self, plan: StepPlan) -> None:
        joined, deferred = 0, ""
        while not self.running and joined < min(self.most, len(self.waiting)) and not deferred:
            is_room = self.tokens_of(self.waiting[: joined + 1]) <= self.policy.limits.kv_budget_tokens
            joined, deferred = joined + is_room, "" if is_room else self.waiting[joined]
        assert (names(plan.prefills), plan.deferred_id) == (self.waiting[:joined], deferred)

    def ending(self, name: str) -> tuple[FinishReason, list[int]] | None:
        tokens, most = self.running[name], self.arrived[name].request.max_output_tokens
        if not self.fixed_tokens:
            return super().ending(name)
        if len(tokens) < min(self.fixed_tokens, most):
            return None
        has_end = EOS_ID in tokens
        return (FinishReason.STOP, tokens[: tokens.index(EOS_ID) + 1]) if has_end else (FinishReason.LENGTH, tokens)


@pytest.mark.parametrize("seed", range(60))
def test_under_random_loads_everyone_is_served_once_in_order_and_never_over_budget(seed: int) -> None:
    workload = StaticWorkload(seed)

    workload.run()

    ended = [answer.request_id for iteration in workload.log for answer in iteration.answers]
    assert sorted([*ended, *workload.cancelled]) == sorted(workload.arrived)


def test_a_batch_that_is_not_full_is_planned_when_it_is_due_and_a_stopping_worker_waits_for_nobody() -> None:
    batch = StaticBatching(BatchLimits(4096, 64, 8), max_batch=3, max_wait_s=60.0)
    batch.submit(delivery("a"), now=0.0)
    before = batch.plan(now=59.0)

    batch.stop_waiting()

    assert (names(before), batch.due_in_s(now=0.0)) == ([], 0.0)
    assert names(batch.plan(now=0.0)) == ["a"]
