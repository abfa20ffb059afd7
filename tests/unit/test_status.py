"""What a worker reports with its beats."""

from __future__ import annotations

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery
from tests.unit.small_model import random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT
from worker.status import WorkerStatus


class Clock:
    """Stands still until a test turns it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Engine:
    return Engine(MiniGPT(random_weights(), 400), ContinuousBatching(BatchLimits(400, 8, 512)), clock)


def accept(engine: Engine, *request_ids: str, max_output: int = 30) -> None:
    for request_id in request_ids:
        request = CorrectionRequest(request_id, (5,) * 10, (0,) * 10, max_output, "test-tokenizer")
        assert engine.accept(Delivery(request, 1, 0.0)) is None


def test_the_limits_of_the_policy_are_reported(clock: Clock) -> None:
    policy = ContinuousBatching(BatchLimits(400, 8, 512, max_prefill_rows=256))
    engine = Engine(MiniGPT(random_weights(), 400), policy, clock)

    gauges = WorkerStatus(engine, clock).report().gauges

    assert (gauges["kv_budget_tokens"], gauges["max_slots"], gauges["max_prefill_rows"]) == (400, 8, 256)


def test_the_service_rate_is_known_once_requests_have_ended_and_outlasts_an_idle_minute(
    engine: Engine, clock: Clock
) -> None:
    status = WorkerStatus(engine, clock)
    before = status.report().service_rate_tokens_per_s
    for number in range(20):
        accept(engine, f"r{number}", max_output=3)
        while engine.policy.has_work:
            clock.now += 0.01
            engine.step()

    clock.now += 1.0
    known = status.report().service_rate_tokens_per_s
    for _ in range(100):
        clock.now += 1.0
        status.report()

    assert before == 0.0
    assert 13 / 0.03 <= known <= 8 * 13 / 0.03 * 1.5  # alone, and with eight slots in the same time
    assert status.report().service_rate_tokens_per_s == known
