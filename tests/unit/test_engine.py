"""The engine's own rules: what it measures before it serves, and that what is late costs no more tokens."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Delivery, FinishReason
from scheduler.observations import Counters
from scheduler.settings import Settings
from scheduler.static import StaticBatching
from tests.unit.small_model import Clock, an_engine, random_weights, request
from worker import engine
from worker.engine import new_engine

LIMITS = BatchLimits(2048, 64, 512)
STATIC = {"mode": "static", "max_batch": 8, "max_wait_ms": 60_000.0}


@pytest.mark.parametrize(
    ("set_to", "rows"),
    [
        ({"max_stall_ms": 8.0}, 8 * 128 // 4), ({"max_stall_ms": 16.0}, 512), ({"max_stall_ms": 0.1}, 3),
        ({"max_stall_ms": 60_000.0}, 512), (STATIC, 65_536),
    ],
)  # fmt: skip
def test_an_engine_warms_up_and_measures_how_many_rows_of_prompts_may_hold_up_others(
    set_to: dict[str, object], rows: int
) -> None:
    looks_s = iter([0.0, 0.009, 1.0, 1.004, 2.0, 2.1])  # three batches of 128 tokens; the quickest counts

    with patch.object(engine, "thread_time", lambda: next(looks_s)):
        subject = new_engine(random_weights(), Settings(**set_to), clock=lambda: 0.0)

    assert subject.policy.limits.max_prefill_rows == pytest.approx(rows, abs=1)
    assert not subject.policy.has_work and subject.observations.counters == Counters()


@pytest.mark.parametrize(
    "policy",
    [ContinuousBatching(LIMITS), StaticBatching(LIMITS, max_batch=2, max_wait_s=0.0)],
    ids=["continuous", "static"],
)
def test_no_token_is_spent_on_a_request_past_its_deadline(policy: ContinuousBatching) -> None:
    clock = Clock()
    subject = an_engine(policy=policy, clock=clock)
    subject.accept(Delivery(request("late"), 1, 0.0, left_s=1.0))
    subject.accept(Delivery(request("other"), 1, 0.0, left_s=2.0))
    subject.step()
    spent = subject.observations.generated_tokens

    clock.now_s = 1.0
    (ended,) = subject.step()

    assert (ended.request_id, ended.finish_reason) == ("late", FinishReason.EXPIRED)
    assert subject.observations.generated_tokens == spent + 1
    assert subject.policy.held_ids() == ["other"]

    clock.now_s = 2.0
    assert [completion.finish_reason for completion in subject.step()] == [FinishReason.EXPIRED]
    assert subject.observations.generated_tokens == spent + 1
