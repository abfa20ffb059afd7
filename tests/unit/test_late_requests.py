"""What is past its deadline costs no more tokens."""

from __future__ import annotations

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Delivery, FinishReason
from scheduler.static import StaticBatching
from tests.unit.small_model import random_weights
from tests.unit.test_actor import request
from worker.engine import Engine
from worker.model.forward import MiniGPT


def test_no_token_is_spent_on_a_request_past_its_deadline() -> None:
    time_s = 0.0
    limits = BatchLimits(2048, 64, 512)
    subject = Engine(MiniGPT(random_weights(), 2048), ContinuousBatching(limits), clock=lambda: time_s)
    subject.accept(Delivery(request("late"), 1, 0.0, left_s=1.0))
    subject.accept(Delivery(request("other"), 1, 0.0))
    subject.step()
    spent = subject.observations.generated_tokens

    time_s = 1.0
    (ended,) = subject.step()

    assert (ended.request_id, ended.finish_reason) == ("late", FinishReason.EXPIRED)
    assert subject.observations.generated_tokens == spent + 1
    assert subject.policy.held_ids() == ["other"]


def test_a_static_batch_that_is_late_as_a_whole_is_dropped_without_an_iteration() -> None:
    time_s = 0.0
    policy = StaticBatching(BatchLimits(2048, 64, 512), max_batch=1, max_wait_s=0.0)
    subject = Engine(MiniGPT(random_weights(), 2048), policy, clock=lambda: time_s)
    subject.accept(Delivery(request("late"), 1, 0.0, left_s=1.0))
    subject.step()

    time_s = 2.0

    assert [completion.finish_reason for completion in subject.step()] == [FinishReason.EXPIRED]
    assert not subject.policy.has_work
