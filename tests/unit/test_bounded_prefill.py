"""How long prompts may hold up those who decode: the policy on a virtual clock, with iterations of known cost."""

from __future__ import annotations

import random

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import CorrectionRequest, Delivery
from tests.unit.small_model import random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT

WORD = 7  # any token that is not <eos>
STALL_S = 0.005
FIXED_S, ROW_S = 0.0003, 0.00001  # of an iteration: 470 rows take the longest stall


class Worker:
    """A policy whose iterations take as long as their rows cost."""

    def __init__(self, row_s: float = ROW_S, max_iteration_tokens: int = 65_536) -> None:
        self.policy = ContinuousBatching(BatchLimits(100_000, 1000, max_iteration_tokens, STALL_S))
        self.row_s = row_s
        self.now = 0.0

    def submit(self, name: str, prompt_tokens: int, max_output: int = 32) -> None:
        prompt = (WORD,) * prompt_tokens
        self.policy.submit(Delivery(CorrectionRequest(name, prompt, prompt, max_output, "t"), 1, 0.0), self.now)

    def iterate(self) -> tuple[StepPlan, float]:
        """The plan, and the seconds that it took."""
        begun_s, plan = self.now, self.policy.plan(self.now)
        num_rows = sum(len(one.delivery.request.prompt_ids) for one in plan.prefills) + len(plan.decodes)
        self.now += FIXED_S + self.row_s * num_rows
        self.policy.commit(plan, [WORD] * len(list(plan)), self.now)
        return plan, self.now - begun_s

    def warm_up(self) -> None:
        """One request after the other, as a light load brings them, and one that goes on decoding."""
        for number in range(20):
            self.submit(f"warm-up {number}", 16, 2)
            self.iterate()
            self.iterate()
        self.submit("decodes", 16, 1000)
        self.iterate()

    def burst(self, number: int = 60, prompt_tokens: int = 20) -> list[tuple[StepPlan, float]]:
        """A text of so many sentences, until all of it is read."""
        for each in range(number):
            self.submit(f"sentence {each} of {self.now}", prompt_tokens, 2)
        iterations = []
        while self.policy.waiting:
            iterations.append(self.iterate())
        return iterations


@pytest.mark.parametrize("row_s", [0.000004, ROW_S, 0.00005], ids=["fast", "usual", "slow"])
def test_a_long_text_holds_nobody_up_for_longer_than_is_allowed(row_s: float) -> None:
    worker = Worker(row_s)
    worker.warm_up()

    iterations = [iteration for _ in range(10) for iteration in worker.burst()]

    assert all(plan.decodes for plan, _ in iterations)
    assert max(seconds for _, seconds in iterations) <= STALL_S + FIXED_S


def test_the_time_that_is_allowed_is_used_once_the_speed_is_known() -> None:
    worker = Worker()
    worker.warm_up()
    for _ in range(5):
        worker.burst()

    plan, seconds = worker.burst()[0]

    assert seconds > 0.8 * STALL_S
    assert len(plan.prefills) > 15


def test_without_anybody_who_decodes_only_the_bound_on_tokens_counts() -> None:
    worker = Worker(max_iteration_tokens=4000)

    plan, seconds = worker.burst(100, 40)[0]

    assert (len(plan.prefills), len(plan.decodes)) == (100, 0)
    assert seconds > STALL_S


def test_one_prompt_is_read_however_slow_the_machine_is() -> None:
    worker = Worker(row_s=0.01)  # sixteen rows take 0.16 s
    worker.warm_up()

    iterations = worker.burst(5)

    assert [len(plan.prefills) for plan, _ in iterations] == [1] * 5


def test_a_single_iteration_that_took_long_does_not_change_the_bound_for_good() -> None:
    worker = Worker()
    worker.warm_up()
    for _ in range(5):
        worker.burst()
    worker.row_s = 0.001  # somebody else had the core
    worker.burst(20)
    worker.row_s = ROW_S
    for _ in range(5):
        worker.burst()

    _, seconds = worker.burst()[0]

    assert seconds > 0.8 * STALL_S


def test_a_processor_that_others_want_too_makes_no_iteration_smaller() -> None:
    waits_s = iter(range(0, 1000, 10))  # from one look at the clock to the next
    policy = ContinuousBatching(BatchLimits(1000, 20, 512, max_stall_s=1.0))
    engine = Engine(MiniGPT(random_weights(), 1000), policy, clock=lambda: float(next(waits_s)))
    for number in range(9):
        request = CorrectionRequest(f"r{number}", (WORD,) * 10, (0,) * 10, 30, "test-tokenizer")
        engine.accept(Delivery(request, 1, 0.0))
        if not number:
            engine.step()  # it goes on decoding

    engine.step()

    assert len(policy.running) == 9


@pytest.mark.parametrize("seed", range(20))
def test_random_loads_are_held_up_by_one_prompt_more_at_most(seed: int) -> None:
    dice = random.Random(seed)
    worker = Worker(row_s=dice.uniform(0.000003, 0.0001))
    worker.warm_up()

    for _ in range(300):
        for _ in range(dice.choice([0, 0, 0, 1, 2, 40])):
            worker.submit(f"{worker.now} {dice.random()}", dice.randint(3, 128), dice.randint(1, 20))
        plan, seconds = worker.iterate()
        largest = max((len(one.delivery.request.prompt_ids) for one in plan.prefills), default=0)
        if plan.prefills and plan.decodes:
            alone_s = FIXED_S + worker.row_s * (largest + len(plan.decodes))
            assert seconds <= max(STALL_S + FIXED_S, alone_s) + 1e-9, f"seed {seed}"
