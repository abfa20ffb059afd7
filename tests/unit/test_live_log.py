"""What a worker notes of its iterations for the live view: slots and counts, no ids, and nothing of those that left."""

from __future__ import annotations

import json

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery
from worker.live import LiveLog

WORD = EOS_ID + 1


def submit(policy: ContinuousBatching, name: str) -> None:
    policy.submit(Delivery(CorrectionRequest(name, (WORD,), (0,), 32, ""), attempt=1, waited_s=0.0), 0.0)


def iterate(policy: ContinuousBatching, log: LiveLog, lengths: dict[str, int]) -> None:
    plan = policy.plan(0.0)
    tokens = [EOS_ID if len(one.output_ids) + 1 >= lengths[one.request_id] else WORD for one in plan]
    policy.commit(plan, tokens, 0.0)
    log.note(plan, policy)


def test_an_iteration_is_noted_as_who_waited_and_the_slots_that_began_went_on_and_ended() -> None:
    policy, log = ContinuousBatching(BatchLimits(1000, 2, 1000)), LiveLog()
    lengths = {"secret-a": 1, "secret-b": 3, "secret-c": 2}
    for name in lengths:
        submit(policy, name)

    iterate(policy, log, lengths)
    iterate(policy, log, lengths)
    text = log.take("w", 2)

    iterations = [[1, [0, 1], [], [0]], [0, [0], [1], []]]
    assert json.loads(text) == {"worker": "w", "slots": 2, "iterations": iterations} and "secret" not in text
    assert json.loads(log.take("w", 2))["iterations"] == []
