"""What a worker reports with its beats."""

from __future__ import annotations

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Delivery
from tests.unit.small_model import Clock, an_engine, request
from worker.status import WorkerStatus


def test_the_limits_of_the_policy_are_reported() -> None:
    engine = an_engine(policy=ContinuousBatching(BatchLimits(400, 8, 512, max_prefill_rows=256)))

    gauges = WorkerStatus(engine, Clock()).report().gauges

    assert (gauges["kv_budget_tokens"], gauges["max_slots"], gauges["max_prefill_rows"]) == (400, 8, 256)


def test_the_service_rate_is_known_once_requests_have_ended_and_outlasts_an_idle_minute() -> None:
    clock = Clock()
    engine = an_engine(400, 8, clock)
    status = WorkerStatus(engine, clock)
    before = status.report().service_rate_tokens_per_s
    for number in range(20):
        engine.accept(Delivery(request(f"r{number}", 10, 3), 1, 0.0))
        while engine.policy.has_work:
            clock.now_s += 0.01
            engine.step()

    clock.now_s += 1.0
    known = status.report().service_rate_tokens_per_s
    for _ in range(100):
        clock.now_s += 1.0
        status.report()

    assert before == 0.0
    assert 13 / 0.03 <= known <= 8 * 13 / 0.03 * 1.5  # alone, and with eight slots in the same time
    assert status.report().service_rate_tokens_per_s == known
