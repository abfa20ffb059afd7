"""The line a worker logs now and then: only where it worked, and what it did since the last one."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from scheduler.batching import BatchLimits
from scheduler.continuous import ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery
from tests.mailbox_house import eventually
from worker.status_line import EVERY_S, StatusLine


def policy_with(*request_ids: str) -> ContinuousBatching:
    policy = ContinuousBatching(BatchLimits(400, 8, 512))
    for request_id in request_ids:
        policy.submit(Delivery(CorrectionRequest(request_id, (5,) * 10, (0,) * 10, 30, "x"), 1, 0.0), 0.0)
    return policy


def iterate(policy: ContinuousBatching, token: int = 7) -> None:
    plan = policy.plan(0.0)
    policy.commit(plan, [token] * len([*plan]), 0.0)


def test_a_line_tells_the_batch_the_tokens_and_the_cache() -> None:
    told: list[dict[str, Any]] = []
    policy = policy_with("a", "b")
    line = StatusLine(policy, 0.0, told.append)
    iterate(policy)
    iterate(policy)

    line.look(EVERY_S)

    (facts,) = told
    assert (facts["running"], facts["waiting"], facts["answers"], facts["mean_batch"]) == (2, 0, 0, 2.0)
    assert (facts["tokens_per_s"], facts["kv_percent"]) == (round((20 + 4) / EVERY_S), 20)


def test_a_worker_that_did_nothing_says_nothing() -> None:
    told: list[dict[str, Any]] = []
    policy = policy_with("a")
    line = StatusLine(policy, 0.0, told.append)
    iterate(policy, token=1)
    line.look(EVERY_S)

    line.look(2 * EVERY_S)
    line.look(3 * EVERY_S)

    assert [one["answers"] for one in told] == [1]


def test_it_speaks_at_most_once_in_its_time() -> None:
    told: list[dict[str, Any]] = []
    policy = policy_with("a")
    line = StatusLine(policy, 0.0, told.append)

    for beat in range(1, 100):
        iterate(policy)
        line.look(beat * EVERY_S / 30)

    assert len(told) == 3


def test_the_line_goes_to_the_log_for_everybody_to_see() -> None:
    policy = policy_with("a")
    line = StatusLine(policy, 0.0)
    iterate(policy)

    with capture_logs() as lines:
        line.look(EVERY_S)
        eventually(lambda: lines)

    assert lines[0].items() >= {"event": "status", "log_level": "info", "running": 1}.items()
