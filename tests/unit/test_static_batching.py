"""The baseline policy: when a batch is complete, who is in it, when it ends."""

from __future__ import annotations

import random

import pytest

from scheduler.batching import BatchLimits
from scheduler.messages import EOS_ID, NO_CAPACITY, FinishReason
from scheduler.static import StaticBatching
from tests.observed_policy import ObservedPolicy
from tests.unit.test_continuous_batching import WORD, delivery, names

ROOM = BatchLimits(kv_budget_tokens=4096, max_slots=64, max_iteration_tokens=8)
LITTLE_ROOM = BatchLimits(kv_budget_tokens=400, max_slots=64, max_iteration_tokens=512)
TWO_SLOTS = BatchLimits(kv_budget_tokens=4096, max_slots=2, max_iteration_tokens=512)


def policy(
    max_batch: int = 3, max_wait_s: float = 1.0, fixed_tokens: int = 0, limits: BatchLimits = ROOM, num_waiting: int = 0
) -> ObservedPolicy:
    batch = ObservedPolicy(StaticBatching(limits, max_batch, max_wait_s, fixed_tokens))
    for number in range(num_waiting):
        batch.submit(delivery(f"r{number}"), now=0.0)
    return batch


@pytest.mark.parametrize(
    ("num_waiting", "num_tokens", "limits", "due_in_s", "members"),
    [
        (0, 0, ROOM, None, []),
        (2, 8, ROOM, 0.75, []),
        (3, 8, ROOM, 0.0, ["r0", "r1", "r2"]),
        (3, 132, ROOM, 0.0, ["r0", "r1", "r2"]),  # all prompts in one pass, however long
        (5, 8, ROOM, 0.0, ["r0", "r1", "r2"]),  # and no more than it may take
        (1, 160, LITTLE_ROOM, 0.75, []),
        (2, 160, LITTLE_ROOM, 0.0, ["r0", "r1"]),  # no further one is sure to fit
        (2, 8, TWO_SLOTS, 0.0, ["r0", "r1"]),
    ],
)
def test_a_batch_starts_when_it_is_full_or_no_more_would_fit(
    num_waiting: int, num_tokens: int, limits: BatchLimits, due_in_s: float | None, members: list[str]
) -> None:
    batch = policy(limits=limits)
    for number in range(num_waiting):
        batch.submit(delivery(f"r{number}", num_tokens - 4), now=10.0)

    assert batch.due_in_s(now=10.25) == due_in_s
    assert names(batch.plan(now=10.25)) == members


def test_a_batch_that_is_not_full_starts_when_its_first_has_waited_long_enough_since_its_acceptance() -> None:
    batch = policy(max_wait_s=1.0)
    batch.submit(delivery("first", waited_s=0.5), now=10.0)
    batch.submit(delivery("second"), now=10.2)

    assert batch.due_in_s(now=10.25) == pytest.approx(0.25)
    assert names(batch.plan(now=10.25)) == []
    assert names(batch.plan(now=10.5)) == ["first", "second"]


def test_the_first_that_does_not_fit_into_the_budget_is_named() -> None:
    batch = policy(max_batch=30, limits=LITTLE_ROOM)
    for number in range(4):
        batch.submit(delivery(f"r{number}", 128, 32), now=0.0)

    plan = batch.plan(now=0.0)

    assert (names(plan.prefills), plan.deferred_id) == (["r0", "r1"], "r2")


def test_nobody_joins_a_batch_that_runs_even_where_a_place_is_free() -> None:
    batch = policy(max_batch=2, num_waiting=3)

    finished = batch.commit(batch.plan(now=0.0), [EOS_ID, WORD], now=0.1)
    beside = batch.plan(now=0.1)
    capacity = batch.free_capacity
    batch.commit(beside, [EOS_ID], now=9.0)

    assert [completion.request_id for _, completion in finished] == ["r0"]
    assert (names(beside), capacity) == (["r1"], NO_CAPACITY)
    assert names(batch.plan(now=9.0)) == ["r2"]


def test_no_more_is_taken_from_the_queue_than_one_batch_holds() -> None:
    found = [policy(max_batch=3, num_waiting=number).free_capacity for number in range(5)]

    assert [(each.requests, each.tokens) for each in found] == [
        (3, 4096), (2, 4088), (1, 4080), (0, 4072), (0, 4064),
    ]  # fmt: skip


def test_a_cancelled_member_does_not_keep_its_batch_from_ending() -> None:
    batch = policy(max_batch=2, num_waiting=2)
    batch.commit(batch.plan(now=0.0), [WORD, WORD], now=0.1)

    batch.cancel("r0")
    batch.commit(batch.plan(now=0.2), [EOS_ID], now=0.2)

    assert not batch.has_work


def test_with_a_fixed_length_all_members_decode_on_and_end_together() -> None:
    batch = policy(max_batch=3, fixed_tokens=3, num_waiting=3)

    assert batch.commit(batch.plan(now=0.0), [EOS_ID, WORD, WORD], now=0.1) == []
    assert batch.commit(batch.plan(now=0.1), [WORD, EOS_ID, WORD], now=0.2) == []
    finished = [completion for _, completion in batch.commit(batch.plan(now=0.2), [WORD, WORD, WORD], now=0.3)]

    assert [c.output_ids for c in finished] == [(EOS_ID,), (WORD, EOS_ID), (WORD, WORD, WORD)]
    assert [c.finish_reason for c in finished] == [FinishReason.STOP, FinishReason.STOP, FinishReason.LENGTH]
    assert batch.observations.generated_tokens == 9


def test_a_stopping_worker_waits_for_nobody() -> None:
    batch = policy(max_wait_s=60.0, num_waiting=1)

    batch.stop_waiting()

    assert batch.due_in_s(now=0.0) == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_under_random_loads_everyone_is_served_once_in_order_and_never_over_budget(seed: int) -> None:
    rng = random.Random(seed)
    limits = BatchLimits(rng.randint(320, 1000), 64, 512)
    max_batch = rng.randint(1, 9)
    batch = policy(max_batch, rng.random(), rng.choice((0, 0, 2)), limits)
    arrivals = sorted(rng.uniform(0, 5) for _ in range(60))
    started, finished, now = [], [], 0.0

    while len(finished) < 60:
        while arrivals and arrivals[0] <= now:
            arrivals.pop(0)
            batch.submit(delivery(f"r{60 - len(arrivals)}", rng.randint(1, 128), rng.randint(1, 32)), now)
        if batch.due_in_s(now) == 0.0:
            plan = batch.plan(now)
            assert not (plan.prefills and plan.decodes)
            assert 0 < len(list(plan)) <= max_batch
            assert batch.reserved_tokens <= limits.kv_budget_tokens
            started += names(plan.prefills)
            tokens = [rng.choice((WORD, WORD, EOS_ID)) for _ in plan]
            finished += [completion.request_id for _, completion in batch.commit(plan, tokens, now)]
        now += 0.01

    assert started == [f"r{number}" for number in range(1, 61)]
    assert sorted(finished) == sorted(started)
