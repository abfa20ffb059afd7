"""The scheduling policy: examples of each rule, then its promises under seeded random workloads."""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass, field, replace

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery, FinishReason
from tests.observed_policy import ObservedPolicy

WORD = 7  # any token that is not <eos>


def delivery(name: str, prompt_tokens: int = 4, max_output: int = 4, waited_s: float = 0.0) -> Delivery:
    prompt = (WORD,) * prompt_tokens
    return Delivery(CorrectionRequest(name, prompt, (0,) * prompt_tokens, max_output, "tokenizer"), 1, waited_s)


def policy(budget: int = 64, slots: int = 8, iteration: int = 64) -> ObservedPolicy:
    return ObservedPolicy(ContinuousBatching(BatchLimits(budget, slots, iteration)))


def names(sequences: object) -> list[str]:
    return [sequence.request_id for sequence in sequences]


def test_a_request_that_arrives_while_others_decode_joins_at_the_next_iteration():
    batch = policy()
    batch.submit(delivery("first"), now=0.0)
    batch.commit(batch.plan(now=0.0), [WORD], now=1.0)

    batch.submit(delivery("second"), now=1.0)
    plan = batch.plan(now=1.0)

    assert names(plan.prefills) == ["second"]
    assert names(plan.decodes) == ["first"]


def test_a_finished_sequence_makes_room_for_the_very_next_plan():
    batch = policy(budget=8)
    batch.submit(delivery("first"), now=0.0)
    batch.submit(delivery("second"), now=0.0)

    batch.commit(batch.plan(now=0.0), [EOS_ID], now=1.0)

    assert names(batch.plan(now=1.0).prefills) == ["second"]


def test_tokens_bind_before_slots_so_twice_the_short_requests_fit():
    short, long = policy(budget=64, slots=64), policy(budget=64, slots=64)
    for i in range(64):
        short.submit(delivery(f"s{i}", prompt_tokens=4, max_output=4), now=0.0)
        long.submit(delivery(f"l{i}", prompt_tokens=8, max_output=8), now=0.0)

    assert len(short.plan(now=0.0).prefills) == 8
    assert len(long.plan(now=0.0).prefills) == 4


def test_who_stands_first_and_does_not_fit_is_not_overtaken_by_a_smaller_one():
    batch = policy(budget=20)
    batch.submit(delivery("running", 6, 6), now=0.0)
    batch.submit(delivery("large", 6, 6), now=0.0)
    batch.submit(delivery("small", 2, 2), now=0.0)

    plan = batch.plan(now=0.0)

    assert names(plan.prefills) == ["running"]
    assert batch.held_ids() == ["running", "large", "small"]


def test_a_request_deferred_for_budget_is_counted_once_however_long_it_waits():
    batch = policy(budget=8)
    batch.submit(delivery("first"), now=0.0)
    batch.submit(delivery("second"), now=0.0)

    for now in range(3):
        batch.commit(batch.plan(now=float(now)), [WORD], now=float(now))

    assert batch.counters.deferred_for_budget == 1


def test_an_iteration_never_processes_more_tokens_than_its_bound():
    batch = policy(budget=640, slots=64, iteration=10)
    for i in range(5):
        batch.submit(delivery(f"r{i}", prompt_tokens=4), now=0.0)

    first = batch.plan(now=0.0)
    batch.commit(first, [WORD] * 2, now=1.0)
    second = batch.plan(now=1.0)

    assert names(first.prefills) == ["r0", "r1"]
    assert names(second.prefills) == ["r2", "r3"]  # two decoding rows and two prompts of four: ten


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
    (finished,) = batch.commit(batch.plan(now=103.0), [EOS_ID], now=106.0)
    timings = finished[1].timings

    assert (timings.queue_s, timings.prefill_s, timings.decode_s) == (11.0, 2.0, 3.0)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_cancelled_request_frees_its_slot_and_its_tokens(is_running: bool):
    batch = policy(budget=8)
    batch.submit(delivery("gone"), now=0.0)
    if is_running:
        batch.plan(now=0.0)

    sequence = batch.cancel("gone")

    assert (sequence is not None) == is_running
    assert batch.free_tokens == 8
    assert not batch.has_work
    assert batch.cancel("gone") is None


def test_free_tokens_leave_out_what_waiting_requests_will_claim():
    batch = policy(budget=20)
    batch.submit(delivery("waits"), now=0.0)

    assert batch.free_tokens == 12


@dataclass
class Workload:
    """Random arrivals, output lengths and cancellations against a random policy, with everything recorded."""

    seed: int
    admitted: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        iteration = self.random.randint(16, 64)
        self.batch = policy(self.random.randint(24, 400), self.random.randint(1, 40), iteration)
        self.submitted = [f"r{i}" for i in range(self.random.randint(1, 80))]
        self.to_come = list(self.submitted)

    def run(self) -> None:
        for now in range(5_000):
            self._arrive(float(now))
            if not self.batch.has_work and not self.to_come:
                return
            self._maybe_cancel()
            self._iterate(float(now))
        raise AssertionError(f"seed {self.seed}: not finished after 5,000 iterations")

    def _arrive(self, now: float) -> None:
        for _ in range(min(len(self.to_come), self.random.choice([0, 0, 1, 3, 10]))):
            prompt, output = self.random.randint(1, 16), self.random.randint(1, 8)
            self.batch.submit(delivery(self.to_come.pop(0), prompt, output), now)

    def _maybe_cancel(self) -> None:
        held = self.batch.held_ids()
        if held and self.random.random() < 0.05:
            gone = self.random.choice(held)
            self.batch.cancel(gone)
            self.cancelled.add(gone)

    def _iterate(self, now: float) -> None:
        limits, can_join = self.batch.limits, self._can_join()
        plan = self.batch.plan(now)
        sequences = list(plan)
        slots = [sequence.slot for sequence in sequences]
        reserved = sum(sequence.reserved_tokens for sequence in sequences)
        tokens = sum(len(s.request.prompt_ids) for s in plan.prefills) + len(plan.decodes)
        self.admitted += names(plan.prefills)

        assert bool(plan.prefills) == can_join, f"seed {self.seed}: who is first and fits waits for nothing"
        assert reserved == self.batch.reserved_tokens <= limits.kv_budget_tokens, f"seed {self.seed}"
        assert tokens <= limits.max_iteration_tokens, f"seed {self.seed}"
        assert len(set(slots)) == len(slots) and set(slots) <= set(range(limits.max_slots)), f"seed {self.seed}"

        chosen = [EOS_ID if self.random.random() < 0.3 else WORD for _ in sequences]
        self.finished += [sequence.request_id for sequence, _ in self.batch.commit(plan, chosen, now)]

    def _can_join(self) -> bool:
        batch, limits, first = self.batch, self.batch.limits, next(iter(self.batch.waiting.values()), None)
        if first is None or len(batch.running) == limits.max_slots:
            return False
        num_rows = len(batch.running) + len(first.request.prompt_ids)
        has_tokens = batch.reserved_tokens + first.reserved_tokens <= limits.kv_budget_tokens
        return has_tokens and num_rows <= limits.max_iteration_tokens


@pytest.mark.parametrize("seed", range(60))
def test_random_workloads_keep_every_promise_of_the_policy(seed: int):
    workload = Workload(seed)

    workload.run()

    in_order = [name for name in workload.submitted if name in set(workload.admitted)]
    assert workload.admitted == in_order, "admitted in order of arrival"
    assert len(workload.finished) == len(set(workload.finished)), "finished once"
    assert set(workload.finished) | workload.cancelled == set(workload.submitted), "nobody lost, nobody starved"
    assert not set(workload.finished) & workload.cancelled
    assert workload.batch.reserved_tokens == 0


def test_a_request_past_its_deadline_is_told_once_whether_it_waits_or_runs():
    batch = policy(budget=8)
    batch.submit(replace(delivery("running"), left_s=2.0), now=0.0)
    batch.submit(replace(delivery("waiting"), left_s=3.0), now=0.0)
    batch.submit(delivery("patient"), now=0.0)
    batch.commit(batch.plan(now=0.0), [WORD], now=1.0)

    told = [batch.late_ids(now) for now in (1.9, 2.0, 2.5, 3.5, 9.0)]

    assert told == [[], ["running"], [], ["waiting"], []]


@pytest.mark.parametrize("seed", range(20))
def test_every_request_held_at_its_deadline_is_named_at_the_next_look(seed: int):
    rng = random.Random(seed)
    batch, deadlines = policy(budget=10_000), {}
    for now in range(100):
        for number in range(rng.choice([0, 0, 1, 3])):
            left_s = rng.choice([0.0, float("inf"), rng.uniform(0, 20)])
            deadlines[f"r{now}.{number}"] = now + left_s
            batch.submit(replace(delivery(f"r{now}.{number}"), left_s=left_s), now)
        batch.plan(now)
        if deadlines and rng.random() < 0.3:
            gone = rng.choice(list(deadlines))
            del deadlines[gone]
            batch.cancel(gone)

        late = batch.late_ids(now)

        assert sorted(late) == sorted(name for name, deadline_s in deadlines.items() if deadline_s <= now)
        for name in late:
            del deadlines[name]
            batch.cancel(name)


def test_of_requests_that_ended_long_before_their_deadline_nothing_is_kept():
    batch = ContinuousBatching(BatchLimits(64, 8, 64))
    for number in range(1000):
        batch.submit(replace(delivery(f"r{number}"), left_s=30.0), now=0.0)
        batch.commit(batch.plan(now=0.0), [EOS_ID], now=0.1)

    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Delivery) and each.request_id.startswith("r9")]

    assert kept == []


def test_who_ended_before_its_deadline_is_not_late():
    batch = policy()
    batch.submit(replace(delivery("first"), left_s=2.0), now=0.0)
    batch.commit(batch.plan(now=0.0), [EOS_ID], now=1.0)

    assert batch.late_ids(now=3.0) == []


def test_an_id_that_comes_again_has_the_deadline_it_came_with():
    batch = policy()
    batch.submit(replace(delivery("again"), left_s=2.0), now=0.0)
    batch.cancel("again")
    batch.submit(replace(delivery("again"), left_s=9.0), now=1.0)

    assert [batch.late_ids(now) for now in (2.0, 10.0)] == [[], ["again"]]
