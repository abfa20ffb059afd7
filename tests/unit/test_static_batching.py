"""The baseline policy: when a batch is complete, who is in it, when it ends."""

from __future__ import annotations

import random

import pytest

from scheduler.batching import BatchLimits
from scheduler.messages import EOS_ID, NO_CAPACITY, CorrectionRequest, Delivery, FinishReason
from scheduler.observations import Counters
from scheduler.settings import Settings
from scheduler.static import StaticBatching
from tests.observed_policy import ObservedPolicy
from tests.unit.small_model import random_weights
from worker.engine import new_engine

WORD = 7  # any token that is not <eos>
ROOM = BatchLimits(kv_budget_tokens=4096, max_slots=64, max_iteration_tokens=8)


def delivery(name: str, prompt_tokens: int = 4, max_output: int = 4, waited_s: float = 0.0) -> Delivery:
    prompt = (WORD,) * prompt_tokens
    return Delivery(CorrectionRequest(name, prompt, (0,) * prompt_tokens, max_output, "tokenizer"), 1, waited_s)


def policy(max_batch: int = 3, max_wait_s: float = 1.0, fixed_tokens: int = 0, limits: BatchLimits = ROOM):
    return ObservedPolicy(StaticBatching(limits, max_batch, max_wait_s, fixed_tokens))


def names(sequences: object) -> list[str]:
    return [sequence.request_id for sequence in sequences]


def test_nothing_is_due_while_nobody_waits():
    assert policy().due_in_s(now=5.0) is None


def test_a_batch_that_is_not_full_is_due_when_its_first_has_waited_long_enough():
    batch = policy(max_wait_s=1.0)
    batch.submit(delivery("first"), now=10.0)
    batch.submit(delivery("second"), now=10.7)

    assert batch.due_in_s(now=10.75) == pytest.approx(0.25)
    assert names(batch.plan(now=10.75)) == []
    assert names(batch.plan(now=11.0)) == ["first", "second"]


def test_the_wait_counts_from_the_moment_the_api_accepted_the_request():
    batch = policy(max_wait_s=1.0)

    batch.submit(delivery("was long in the queue", waited_s=3.0), now=10.0)

    assert batch.due_in_s(now=10.0) == 0.0


def test_a_full_batch_is_due_at_once_and_takes_no_more_than_it_may():
    batch = policy(max_batch=3)
    for number in range(5):
        batch.submit(delivery(f"r{number}"), now=0.0)

    assert batch.due_in_s(now=0.0) == 0.0
    assert names(batch.plan(now=0.0).prefills) == ["r0", "r1", "r2"]


def test_all_prompts_of_a_batch_are_read_in_one_pass_however_long():
    batch = policy(max_batch=3)
    for number in range(3):
        batch.submit(delivery(f"r{number}", prompt_tokens=100), now=0.0)

    assert len(batch.plan(now=0.0).prefills) == 3


def test_a_batch_that_no_further_request_is_sure_to_fit_in_is_due_before_it_is_full():
    batch = policy(max_batch=30, limits=BatchLimits(400, 64, 512))
    batch.submit(delivery("a", 128, 32), now=0.0)

    assert batch.due_in_s(now=0.0) == 1.0

    batch.submit(delivery("b", 128, 32), now=0.0)

    assert batch.due_in_s(now=0.0) == 0.0


def test_a_batch_that_fills_every_slot_is_due_although_more_were_allowed():
    batch = policy(max_batch=30, limits=BatchLimits(4096, 2, 512))
    for number in range(2):
        batch.submit(delivery(f"r{number}"), now=0.0)

    assert batch.due_in_s(now=0.0) == 0.0


def test_the_token_budget_bounds_a_batch_before_its_number_does():
    batch = policy(max_batch=30, limits=BatchLimits(400, 64, 512))
    for number in range(4):
        batch.submit(delivery(f"r{number}", 128, 32), now=0.0)

    plan = batch.plan(now=0.0)

    assert (names(plan.prefills), plan.deferred_id) == (["r0", "r1"], "r2")


def test_nobody_joins_a_batch_that_runs_even_where_a_place_is_free():
    batch = policy(max_batch=2)
    batch.submit(delivery("short"), now=0.0)
    batch.submit(delivery("long"), now=0.0)
    batch.submit(delivery("late"), now=0.0)

    finished = batch.commit(batch.plan(now=0.0), [EOS_ID, WORD], now=0.1)
    beside = batch.plan(now=0.1)
    batch.commit(beside, [EOS_ID], now=9.0)

    assert [completion.request_id for _, completion in finished] == ["short"]
    assert names(beside) == ["long"]
    assert names(batch.plan(now=9.0)) == ["late"]


def test_nothing_is_taken_from_the_queue_while_a_batch_runs():
    batch = policy(max_batch=1)
    batch.submit(delivery("r"), now=0.0)
    batch.plan(now=0.0)

    assert batch.free_capacity == NO_CAPACITY


def test_no_more_is_taken_from_the_queue_than_one_batch_holds():
    batch = policy(max_batch=3)
    rooms = [batch.free_capacity.requests]

    for number in range(2):
        batch.submit(delivery(f"r{number}"), now=0.0)
        rooms.append(batch.free_capacity.requests)

    assert rooms == [3, 2, 1]
    assert batch.free_capacity.tokens == 4096 - 2 * 8


def test_a_cancelled_member_does_not_keep_its_batch_from_ending():
    batch = policy(max_batch=2)
    batch.submit(delivery("goes"), now=0.0)
    batch.submit(delivery("stays"), now=0.0)
    batch.commit(batch.plan(now=0.0), [WORD, WORD], now=0.1)

    batch.cancel("goes")
    batch.commit(batch.plan(now=0.2), [EOS_ID], now=0.2)

    assert not batch.has_work


def test_with_a_fixed_length_all_members_decode_on_and_end_together():
    batch = policy(max_batch=2, fixed_tokens=3)
    batch.submit(delivery("right"), now=0.0)
    batch.submit(delivery("wrong"), now=0.0)

    assert batch.commit(batch.plan(now=0.0), [EOS_ID, WORD], now=0.1) == []
    assert batch.commit(batch.plan(now=0.1), [WORD, EOS_ID], now=0.2) == []
    finished = [completion for _, completion in batch.commit(batch.plan(now=0.2), [WORD, WORD], now=0.3)]

    assert [c.output_ids for c in finished] == [(EOS_ID,), (WORD, EOS_ID)]
    assert [c.finish_reason for c in finished] == [FinishReason.STOP] * 2
    assert batch.observations.generated_tokens == 6


def test_a_fixed_length_that_cuts_an_answer_says_so():
    batch = policy(max_batch=1, fixed_tokens=2)
    batch.submit(delivery("long"), now=0.0)

    batch.commit(batch.plan(now=0.0), [WORD], now=0.1)
    ((_, completion),) = batch.commit(batch.plan(now=0.1), [WORD], now=0.2)

    assert (completion.finish_reason, completion.output_ids) == (FinishReason.LENGTH, (WORD, WORD))


def test_a_stopping_worker_waits_for_nobody():
    batch = policy(max_wait_s=60.0)
    batch.submit(delivery("r"), now=0.0)

    batch.stop_waiting()

    assert batch.due_in_s(now=0.0) == 0.0


def test_an_engine_warms_up_without_waiting_for_a_full_batch():
    settings = Settings(mode="static", max_batch=8, max_wait_ms=60_000.0)

    engine = new_engine(random_weights(), settings, clock=lambda: 0.0)

    assert not engine.policy.has_work and engine.observations.counters == Counters()


@pytest.mark.parametrize("seed", range(20))
def test_under_random_loads_everyone_is_served_once_in_order_and_never_over_budget(seed: int):
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
        due_in_s = batch.due_in_s(now)
        if due_in_s == 0.0:
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
