"""What a worker reports with its beats, and the line it logs now and then."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery
from tests.mailbox_house import eventually
from tests.unit.small_model import random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT
from worker.status import EVERY_S, WorkerStatus


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


def test_a_line_shows_the_batch_the_tokens_and_the_cache(engine: Engine, clock: Clock) -> None:
    logged: list[dict[str, Any]] = []
    status = WorkerStatus(engine, clock, logged.append)
    accept(engine, "a", "b")
    engine.step()
    engine.step()
    clock.now = EVERY_S

    status.report()

    (facts,) = logged
    assert (facts["running"], facts["waiting"], facts["answers"], facts["mean_batch"]) == (2, 0, 0, 2.0)
    assert (facts["tokens_per_s"], facts["kv_percent"]) == (round((20 + 4) / EVERY_S), 20)


def test_a_worker_that_did_nothing_logs_nothing(engine: Engine, clock: Clock) -> None:
    logged: list[dict[str, Any]] = []
    status = WorkerStatus(engine, clock, logged.append)
    accept(engine, "a", max_output=1)
    engine.step()

    for turn in (1, 2, 3):
        clock.now = turn * EVERY_S
        status.report()

    assert [one["answers"] for one in logged] == [1]


def test_it_logs_at_most_once_in_ten_seconds(engine: Engine, clock: Clock) -> None:
    logged: list[dict[str, Any]] = []
    status = WorkerStatus(engine, clock, logged.append)

    for beat in range(1, 100):
        accept(engine, f"r{beat}", max_output=1)
        engine.step()
        clock.now = beat * EVERY_S / 30
        status.report()

    assert len(logged) == 3


def test_the_line_goes_to_the_log_for_everybody_to_see(engine: Engine, clock: Clock) -> None:
    status = WorkerStatus(engine, clock)
    accept(engine, "a")
    engine.step()
    clock.now = EVERY_S

    with capture_logs() as lines:
        status.report()
        eventually(lambda: lines)

    assert lines[0].items() >= {"event": "status", "log_level": "info", "running": 1}.items()


def test_the_service_rate_is_known_once_requests_have_ended_and_outlasts_an_idle_minute(
    engine: Engine, clock: Clock
) -> None:
    status = WorkerStatus(engine, clock, lambda facts: None)
    before = status.report().service_rate_tokens_per_s
    for number in range(20):
        accept(engine, f"r{number}", max_output=3)
        while engine.has_work:
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
