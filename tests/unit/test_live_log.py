"""What a worker notes of its iterations for the live view: numbers, no ids, and nothing of those that left."""

from __future__ import annotations

import json

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery
from worker.live import MAX_SLOTS, LiveLog

WORD = EOS_ID + 1


def submit(policy: ContinuousBatching, name: str, prompt_tokens: int = 1, waited_s: float = 0.0) -> None:
    request = CorrectionRequest(name, (WORD,) * prompt_tokens, (0,) * prompt_tokens, 32, "")
    policy.submit(Delivery(request, attempt=1, waited_s=waited_s), 0.0)


def iterate(policy: ContinuousBatching, log: LiveLog, lengths: dict[str, int]) -> None:
    plan = policy.plan(0.0)
    tokens = [EOS_ID if len(one.output_ids) + 1 >= lengths[one.request_id] else WORD for one in plan]
    policy.commit(plan, tokens, 0.0)
    log.note(plan, policy.running, 0.005)


def taken(log: LiveLog) -> list[list[object]]:
    return json.loads(log.take("w", 4, 0))["iterations"]


def test_a_worker_tells_who_began_went_on_and_ended_by_number_and_never_by_id() -> None:
    policy, log = ContinuousBatching(BatchLimits(1000, 2, 1000)), LiveLog()
    for name in ("secret-a", "secret-b", "secret-c"):
        submit(policy, name, 5, waited_s=0.25)
    lengths = {"secret-a": 1, "secret-b": 3, "secret-c": 2}

    iterate(policy, log, lengths)
    iterate(policy, log, lengths)
    text = log.take("w", 4, 1)

    first, second = json.loads(text)["iterations"]
    assert first == [5.0, [[0, 0, 5, 250], [1, 1, 5, 250]], [], [0, 0, 1]]
    assert second == [5.0, [[0, 2, 5, 250]], [1, 1], []]
    assert "secret" not in text
    assert taken(log) == []


def test_only_the_first_slots_are_told() -> None:
    policy, log = ContinuousBatching(BatchLimits(100_000, 200, 100_000)), LiveLog()
    for number in range(MAX_SLOTS + 20):
        submit(policy, str(number))

    iterate(policy, log, {str(number): 1 for number in range(MAX_SLOTS + 20)})

    ((_, began, _, ended),) = taken(log)
    assert len(began) == MAX_SLOTS and len(ended) == 3 * MAX_SLOTS


def test_nothing_is_remembered_of_those_that_left() -> None:
    policy, log = ContinuousBatching(BatchLimits(1000, 2, 1000)), LiveLog()
    lengths = {str(number): 2 for number in range(50)}
    for name in lengths:
        submit(policy, name)
    while policy.has_work:
        iterate(policy, log, lengths)
    taken(log)
    submit(policy, "0")

    iterate(policy, log, lengths)

    ((_, ((_, number, *_),), _, _),) = taken(log)
    assert number == 50  # the id that had the number 0 is a new one
