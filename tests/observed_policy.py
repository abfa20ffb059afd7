"""A batching policy with its observations next to it, joined as the engine joins them."""

from __future__ import annotations

from typing import Any

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import Completion, Delivery
from scheduler.observations import Counters, Observations


class ObservedPolicy:
    """`commit` gives completions and counts; all else is the policy's own."""

    def __init__(self, policy: ContinuousBatching) -> None:
        self.policy = policy
        self.observations = Observations()
        self._planned_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    @property
    def counters(self) -> Counters:
        return self.observations.counters

    def plan(self, now: float) -> StepPlan:
        self._planned_s = now
        plan = self.policy.plan(now)
        self.observations.note_held(self.policy)
        return plan

    def commit(self, plan: StepPlan, tokens: list[int], now: float) -> list[tuple[Delivery, Completion]]:
        finished = self.policy.commit(plan, tokens, now)
        self.observations.note_iteration(plan, self.policy, self._planned_s, now)
        return [(sequence, self.observations.completion(sequence, reason, now)) for sequence, reason in finished]
