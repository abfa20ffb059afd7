"""How many prompts may hold up those who decode: so many rows, which a worker measures once, at its start."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import CorrectionRequest, Delivery
from scheduler.settings import Settings
from tests.unit.small_model import random_weights
from worker import engine
from worker.engine import new_engine

WORD = 7  # any token that is not <eos>
MOST_ROWS = 100


class Worker:
    """A policy, and one request that goes on decoding."""

    def __init__(self, max_iteration_tokens: int = 65_536, max_prefill_rows: int = MOST_ROWS) -> None:
        self.policy = ContinuousBatching(BatchLimits(100_000, 1000, max_iteration_tokens, max_prefill_rows))

    def submit(self, name: str, prompt_tokens: int, max_output: int = 32) -> None:
        prompt = (WORD,) * prompt_tokens
        self.policy.submit(Delivery(CorrectionRequest(name, prompt, prompt, max_output, "t"), 1, 0.0), 0.0)

    def iterate(self) -> StepPlan:
        plan = self.policy.plan(0.0)
        self.policy.commit(plan, [WORD] * len(list(plan)), 0.0)
        return plan

    def burst(self, number: int, prompt_tokens: int) -> list[StepPlan]:
        """A text of so many sentences, until all of it is read."""
        for each in range(number):
            self.submit(f"sentence {each}", prompt_tokens, 2)
        plans = []
        while self.policy.waiting:
            plans.append(self.iterate())
        return plans


def rows_of(plan: StepPlan) -> int:
    return sum(len(one.request.prompt_ids) for one in plan.prefills) + len(plan.decodes)


def test_a_long_text_is_read_in_iterations_of_as_many_rows_as_are_allowed() -> None:
    worker = Worker()
    worker.submit("decodes", 16, 1000)
    worker.iterate()

    plans = worker.burst(60, 20)

    assert all(plan.decodes and rows_of(plan) <= MOST_ROWS for plan in plans)
    assert all(rows_of(plan) > MOST_ROWS - 20 for plan in plans[:-1])


def test_without_anybody_who_decodes_only_the_bound_on_tokens_counts() -> None:
    plan = Worker(max_iteration_tokens=4000).burst(100, 40)[0]

    assert (len(plan.prefills), len(plan.decodes)) == (100, 0)


def test_one_prompt_is_read_however_slow_the_machine_is() -> None:
    worker = Worker(max_prefill_rows=0)
    worker.submit("decodes", 16, 1000)
    worker.iterate()

    assert [len(plan.prefills) for plan in worker.burst(5, 20)] == [1] * 5


@pytest.mark.parametrize("seed", range(20))
def test_random_loads_are_held_up_by_one_prompt_more_at_most(seed: int) -> None:
    dice, worker = random.Random(seed), Worker()

    for number in range(300):
        for each in range(dice.choice([0, 0, 0, 1, 2, 40])):
            worker.submit(f"{number} {each}", dice.randint(3, 128), dice.randint(1, 20))
        plan = worker.iterate()
        if plan.prefills and plan.decodes:
            assert len(plan.prefills) == 1 or rows_of(plan) <= MOST_ROWS, f"seed {seed}"


@pytest.mark.parametrize(
    ("max_stall_ms", "rows"), [(8.0, 8 * 128 // 4), (16.0, 512), (0.1, 3), (60_000.0, 512)]
)  # fmt: skip
def test_the_bound_is_what_this_machine_reads_in_the_time_that_is_set(max_stall_ms: float, rows: int) -> None:
    looks_s = iter([0.0, 0.009, 1.0, 1.004, 2.0, 2.1])  # three batches of 128 tokens; the quickest counts

    with patch.object(engine, "thread_time", lambda: next(looks_s)):
        subject = new_engine(random_weights(), Settings(max_stall_ms=max_stall_ms), clock=lambda: 0.0)

    assert subject.policy.limits.max_prefill_rows == pytest.approx(rows, abs=1)
    assert not subject.policy.has_work


def test_the_bound_stays_as_it_was_measured_however_long_iterations_take() -> None:
    waits_s = iter(range(0, 10_000, 10))  # from one look at the clock to the next: others want the processor, too
    subject = new_engine(random_weights(), Settings(), clock=lambda: float(next(waits_s)))
    limits = subject.policy.limits
    for number in range(9):
        request = CorrectionRequest(f"r{number}", (WORD,) * 10, (0,) * 10, 30, "test-tokenizer")
        subject.accept(Delivery(request, 1, 0.0))
        subject.step()

    assert subject.policy.limits == limits
