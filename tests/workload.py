"""Random requests against a batching policy: arrivals, deadlines and cancellations, with books of the test's own.

What every policy promises is checked at each iteration; a subclass knows what its policy does beyond that.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, Completion, CorrectionRequest, Delivery, FinishReason, Timings
from scheduler.observations import Observations

WORD = 7  # any token that is not <eos>


def delivery(name: str, prompt_tokens: int = 4, max_output: int = 4, waited_s: float = 0.0) -> Delivery:
    prompt = (WORD,) * prompt_tokens
    return Delivery(CorrectionRequest(name, prompt, (0,) * prompt_tokens, max_output, "tokenizer"), 1, waited_s)


def names(sequences: Iterable[Delivery]) -> list[str]:
    return [sequence.request_id for sequence in sequences]


@dataclass(frozen=True, slots=True)
class Iteration:
    planned_s: float
    ended_s: float
    plan: StepPlan
    answers: list[Completion]


class Workload(ABC):
    """Of one seed."""

    def __init__(self, seed: int) -> None:
        self.random, self.now_s = random.Random(seed), 0.0
        self.policy, self.observations = self.a_policy(), Observations()
        self.num_requests = self.random.randint(1, 80)
        self.arrived: dict[str, Delivery] = {}
        self.running: dict[str, list[int]] = {}  # and their tokens
        self.waiting: list[str] = []
        self.begun: dict[str, tuple[float, float]] = {}  # the iteration that read its prompt: planned, ended
        self.cancelled: set[str] = set()
        self.log: list[Iteration] = []

    @abstractmethod
    def a_policy(self) -> ContinuousBatching: ...

    def a_delivery(self, name: str) -> Delivery:
        waited_s, left_s = self.random.choice([0.0, 0.4]), self.random.choice([inf] * 4 + [0.0, 2.5, 20.0])
        return replace(delivery(name, self.random.randint(1, 16), self.random.randint(1, 8), waited_s), left_s=left_s)

    def run(self) -> None:
        while self.waiting or self.running or len(self.arrived) < self.num_requests:
            self.now_s += self.random.uniform(0.5, 1.0)
            for _ in range(self.random.choice([0, 0, 1, 3, 10])):
                self.arrive()
            if (held := [*self.running, *self.waiting]) and self.random.random() < 0.05:
                self.cancel(self.random.choice(held))
            self.end_late()
            assert self.policy.has_work == bool(self.running or self.waiting)
            assert self.policy.held_ids() == [*self.running, *self.waiting]
            due_in_s = self.due_in_s()
            assert self.policy.due_in_s(self.now_s) == due_in_s
            if due_in_s == 0.0:
                self.iterate()
        assert self.policy.reserved_tokens == 0

    def arrive(self) -> None:
        if len(self.arrived) < self.num_requests:
            new = self.a_delivery(f"r{len(self.arrived)}")
            self.arrived[new.request_id] = new
            self.waiting.append(new.request_id)
            self.policy.submit(new, self.now_s)

    def cancel(self, name: str) -> None:
        assert (self.policy.cancel(name) is not None) == (name in self.running)
        assert self.policy.cancel(name) is None
        self.take_out(name)
        self.cancelled.add(name)

    def take_out(self, name: str) -> list[int]:
        if name in self.waiting:
            self.waiting.remove(name)
        return self.running.pop(name, [])

    def end_late(self) -> None:
        """Every request that is held at its deadline is named once, at the next look."""
        held = [*self.running, *self.waiting]
        late = [name for name in held if self.arrived[name].submitted_s + self.arrived[name].left_s <= self.now_s]
        assert self.policy.late_ids(self.now_s) == late and self.policy.late_ids(self.now_s) == []
        for name in late:
            self.cancel(name)

    def due_in_s(self) -> float | None:
        """Until there is an iteration to run."""
        return 0.0 if self.running or self.waiting else None

    def tokens_of(self, some: Iterable[str]) -> int:
        return sum(self.arrived[name].reserved_tokens for name in some)

    def iterate(self) -> None:
        before, limits = list(self.running), self.policy.limits
        plan = self.policy.plan(self.now_s)
        self.check_plan(plan)
        for name in names(plan.prefills):
            self.take_out(name)
            self.running[name] = []
        sequences, slots = list(plan), [sequence.slot for sequence in plan]
        assert names(plan.decodes) == before and set(names(sequences)) == self.running.keys()
        assert self.policy.reserved_tokens == self.tokens_of(self.running) <= limits.kv_budget_tokens
        assert self.policy.free_tokens == max(0, limits.kv_budget_tokens - self.tokens_of(self.policy.held_ids()))
        assert len(set(slots)) == len(slots) and set(slots) <= set(range(limits.max_slots))

        chosen, ended_s = [self.random.choice([EOS_ID, WORD, WORD]) for _ in sequences], self.now_s + 0.4
        for name, token in zip(names(sequences), chosen, strict=True):
            self.running[name].append(token)
            self.begun.setdefault(name, (self.now_s, ended_s))
        expected = [self.answer(name, *found, ended_s) for name in names(sequences) if (found := self.ending(name))]
        ended = self.policy.commit(plan, chosen, ended_s)
        self.observations.note_iteration(plan, self.policy, self.now_s, ended_s)
        answers = [self.observations.completion(sequence, reason, ended_s) for sequence, reason in ended]
        assert answers == expected
        for answer in answers:
            self.take_out(answer.request_id)
        self.log.append(Iteration(self.now_s, ended_s, plan, answers))
        self.now_s = ended_s

    def answer(self, name: str, reason: FinishReason, tokens: list[int], ended_s: float) -> Completion:
        one, (planned_s, first_s) = self.arrived[name], self.begun[name]
        timings = Timings(one.waited_s + planned_s - one.submitted_s, first_s - planned_s, ended_s - first_s)
        return Completion(name, reason, tuple(tokens), timings)

    def ending(self, name: str) -> tuple[FinishReason, list[int]] | None:
        """Why a running sequence ends, and its tokens; None where it goes on."""
        tokens = self.running[name]
        if tokens[-1] == EOS_ID:
            return FinishReason.STOP, tokens
        is_full = len(tokens) == self.arrived[name].request.max_output_tokens
        return (FinishReason.LENGTH, tokens) if is_full else None

    @abstractmethod
    def check_plan(self, plan: StepPlan) -> None:
        """Before what it admits is noted."""
