"""Deadlines: refused at once where the load promises no answer in time, never begun once it is too late."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.errors import DeadlineExceeded
from tests.mailbox_house import RedisHouse, a_bare_submission, a_request, eventually, take
from worker.queue.protocol import WorkerReport

RATE = 0.1  # reserved tokens per second


@pytest.mark.parametrize("is_plain", [False, True])  # the scripts have a way for each
def test_what_the_load_cannot_answer_in_time_is_refused_at_once_and_leaves_nothing(
    house: RedisHouse, is_plain: bool
) -> None:
    api = house.api()
    worker = house.worker(lambda: WorkerReport(service_rate_tokens_per_s=RATE))
    eventually(lambda: api.observe().counts.get("service_rate") == int(RATE))
    api.submit(a_request("first"), within_s=0.5 * 42 / RATE)  # an empty queue takes what a bad rate would refuse
    late = replace(a_bare_submission([a_request("late")], 0.9 * 84 / RATE), may_be_known=not is_plain)

    with pytest.raises(DeadlineExceeded, match="answer would come after.* nothing was queued"):
        api.enqueue(late)
        api.wait(late)

    assert api.status().reserved_requests == 1
    api.submit(a_request("in"), within_s=1.1 * 84 / RATE)
    assert take(worker) == ["first", "in"]


def test_what_waited_past_its_deadline_is_never_begun(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("late"), within_s=600.0)
    api.submit(a_request("other"), within_s=600.0)
    house.end_deadline("late")

    assert take(worker) == ["other"]

    with pytest.raises(DeadlineExceeded, match="The deadline was over before"):
        api.wait(ticket)
