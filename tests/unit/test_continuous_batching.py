"""The scheduling policy: examples of its rules, then its promises under seeded random workloads."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery, FinishReason
from tests.observed_policy import ObservedPolicy

WORD = 7  # any token that is not <eos>


def delivery(name: str, prompt_tokens: int = 4, max_output: int = 4, waited_s: float = 0.0) -> Delivery:
    prompt = (WORD,) * prompt_tokens
    return Delivery(CorrectionRequest(name, prompt, (0,) * prompt_tokens, max_output, "tokenizer"), 1, waited_s)


def policy(budget: int = 64, slots: int = 8, iteration: int = 64, prefill_rows: int = 65_536) -> ObservedPolicy:
    return ObservedPolicy(ContinuousBatching(BatchLimits(budget, slots, iteration, prefill_rows)))


def names(sequences: Iterable[Delivery]) -> list[str]:
    return [sequence.request_id for sequence in sequences]


def num_rows(plan: StepPlan) -> int:
    return sum(len(one.request.prompt_ids) for one in plan.prefills) + len(plan.decodes)


def test_a_request_joins_at_the_next_iteration_and_who_does_not_fit_is_not_overtaken():
    batch = policy(budget=24)
    for name, prompt, output in (("first", 2, 6), ("second", 2, 6), ("large", 6, 6), ("small", 2, 2)):
        batch.submit(delivery(name, prompt, output), now=0.0)
        plan = batch.plan(now=0.0)
        batch.commit(plan, [WORD] * len(list(plan)), now=1.0)

    assert (names(plan.prefills), names(plan.decodes), plan.deferred_id) == ([], ["first", "second"], "large")
    assert batch.held_ids() == ["first", "second", "large", "small"]
    assert batch.counters.deferred_for_budget == 1, "once, however long it waits"


def test_a_sequence_ends_at_eos_or_at_its_greatest_output():
    batch = policy()
    batch.submit(delivery("stops", max_output=3), now=0.0)
    batch.submit(delivery("runs out", max_output=2), now=0.0)

    assert batch.commit(batch.plan(now=0.0), [WORD, WORD], now=1.0) == []
    finished = [completion for _, completion in batch.commit(batch.plan(now=1.0), [EOS_ID, WORD], now=2.0)]

    assert [c.finish_reason for c in finished] == [FinishReason.STOP, FinishReason.LENGTH]
    assert [c.output_ids for c in finished] == [(WORD, EOS_ID), (WORD, WORD)]
    assert not batch.has_work


def test_timings_tell_queue_prefill_and_decode_apart():
    batch = policy()
    batch.submit(delivery("r", waited_s=10.0), now=100.0)

    batch.commit(batch.plan(now=101.0), [WORD], now=103.0)
    ((_, finished),) = batch.commit(batch.plan(now=103.0), [EOS_ID], now=106.0)

    timings = finished.timings
    assert (timings.queue_s, timings.prefill_s, timings.decode_s) == (11.0, 2.0, 3.0)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_cancelled_request_frees_its_slot_and_its_tokens(is_running: bool):
    batch = policy(budget=8)
    batch.submit(delivery("gone"), now=0.0)
    assert batch.free_tokens == 0
    if is_running:
        batch.plan(now=0.0)

    sequence = batch.cancel("gone")

    assert (sequence is not None) == is_running
    assert batch.free_tokens == 8
    assert not batch.has_work
    assert batch.cancel("gone") is None


@dataclass
class Workload:
    """Random arrivals, lengths, deadlines and cancellations against a random policy, with everything recorded."""

    seed: int
    admitted: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)
    deadlines: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        budget, slots, iteration = (self.random.randint(*bounds) for bounds in ((24, 400), (1, 40), (16, 64)))
        self.batch = policy(budget, slots, iteration, self.random.choice([0, 20, 65_536]))
        self.submitted = [f"r{i}" for i in range(self.random.randint(1, 80))]
        self.to_come = list(self.submitted)

    def run(self) -> None:
        for now in range(5_000):
            self._arrive(float(now))
            if not self.batch.has_work and not self.to_come:
                return
            self._maybe_cancel()
            self._end_late(float(now))
            self._iterate(float(now))
        raise AssertionError("not finished after 5,000 iterations")

    def _arrive(self, now: float) -> None:
        for _ in range(min(len(self.to_come), self.random.choice([0, 0, 1, 3, 10]))):
            prompt, output = self.random.randint(1, 16), self.random.randint(1, 8)
            left_s = self.random.choice([float("inf")] * 4 + [0.0, 2.5, self.random.uniform(0, 30)])
            new = replace(delivery(self.to_come.pop(0), prompt, output), left_s=left_s)
            self.deadlines[new.request_id] = now + left_s
            self.batch.submit(new, now)

    def _cancel(self, name: str) -> None:
        self.batch.cancel(name)
        self.cancelled.add(name)

    def _maybe_cancel(self) -> None:
        held = self.batch.held_ids()
        if held and self.random.random() < 0.05:
            self._cancel(self.random.choice(held))

    def _end_late(self, now: float) -> None:
        """Every request that is held at its deadline is named once, at the next look."""
        expected = sorted(name for name in self.batch.held_ids() if self.deadlines[name] <= now)
        late = self.batch.late_ids(now)
        assert sorted(late) == expected and self.batch.late_ids(now) == []
        for name in late:
            self._cancel(name)

    def _iterate(self, now: float) -> None:
        limits = self.batch.limits
        plan = self.batch.plan(now)
        sequences = list(plan)
        slots = [sequence.slot for sequence in sequences]
        self.admitted += names(plan.prefills)

        assert not self._could_join(plan), "who is first and fits waits for nothing"
        reserved = sum(sequence.reserved_tokens for sequence in sequences)
        assert reserved == self.batch.reserved_tokens <= limits.kv_budget_tokens
        assert num_rows(plan) <= limits.max_iteration_tokens
        assert not plan.decodes or len(plan.prefills) < 2 or num_rows(plan) <= limits.max_prefill_rows
        assert len(set(slots)) == len(slots) and set(slots) <= set(range(limits.max_slots))

        chosen = [EOS_ID if self.random.random() < 0.3 else WORD for _ in sequences]
        self.finished += [sequence.request_id for sequence, _ in self.batch.commit(plan, chosen, now)]

    def _could_join(self, plan: StepPlan) -> bool:
        """Whether one more would have fitted."""
        batch, limits, first = self.batch, self.batch.limits, next(iter(self.batch.waiting.values()), None)
        if first is None or len(batch.running) == limits.max_slots:
            return False
        rows = num_rows(plan) + len(first.request.prompt_ids)
        is_held_up = plan.decodes and plan.prefills and rows > limits.max_prefill_rows
        has_tokens = batch.reserved_tokens + first.reserved_tokens <= limits.kv_budget_tokens
        assert plan.deferred_id == ("" if has_tokens else first.request_id)
        return has_tokens and rows <= limits.max_iteration_tokens and not is_held_up


@pytest.mark.parametrize("seed", range(80))
def test_random_workloads_keep_every_promise_of_the_policy(seed: int):
    workload = Workload(seed)

    workload.run()

    in_order = [name for name in workload.submitted if name in set(workload.admitted)]
    assert workload.admitted == in_order, "admitted in order of arrival"
    assert len(workload.finished) == len(set(workload.finished)), "finished once"
    assert set(workload.finished) | workload.cancelled == set(workload.submitted), "nobody lost, nobody starved"
    assert not set(workload.finished) & workload.cancelled
    assert workload.batch.reserved_tokens == 0


def test_of_requests_that_ended_long_before_their_deadline_nothing_is_kept():
    batch = ContinuousBatching(BatchLimits(64, 8, 64))
    for number in range(1000):
        batch.submit(replace(delivery(f"r{number}"), left_s=30.0), now=0.0)
        batch.commit(batch.plan(now=0.0), [EOS_ID], now=0.1)

    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Delivery) and each.request_id.startswith("r9")]

    assert kept == [] and batch.late_ids(now=99.0) == []


def test_an_id_that_comes_again_has_the_deadline_it_came_with():
    batch = policy()
    batch.submit(replace(delivery("again"), left_s=2.0), now=0.0)
    batch.cancel("again")
    batch.submit(replace(delivery("again"), left_s=9.0), now=1.0)

    assert [batch.late_ids(now) for now in (2.0, 10.0)] == [[], ["again"]]
