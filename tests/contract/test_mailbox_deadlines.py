"""Deadlines: refused at once where the load promises no answer in time, never begun once it is too late."""

from __future__ import annotations

import pytest

from scheduler.errors import DeadlineExceeded
from tests.mailbox_house import AMPLE, RedisHouse, a_request, answer, eventually, take
from worker.queue.protocol import WorkerReport

RATE = 0.1  # reserved tokens per second


def test_what_the_load_cannot_answer_in_time_is_refused_at_once_and_leaves_nothing(house: RedisHouse) -> None:
    api = house.api()
    worker = house.worker(lambda: WorkerReport(service_rate_tokens_per_s=RATE))
    eventually(lambda: api.status().service_rate_tokens_per_s == RATE)
    api.submit(a_request("first"), within_s=0.5 * 42 / RATE)  # an empty queue takes what a bad rate would refuse

    with pytest.raises(DeadlineExceeded, match="answer would come after.* nothing was queued"):
        api.submit(a_request("late"), within_s=0.9 * 84 / RATE)

    assert api.status().reserved_requests == 1
    api.submit(a_request("in"), within_s=1.1 * 84 / RATE)
    assert take(worker) == ["first", "in"]


def test_what_waited_past_its_deadline_is_never_begun_and_may_be_sent_again(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("late"), within_s=600.0)
    api.submit(a_request("other"), within_s=600.0)
    house.end_deadline("late")

    assert take(worker) == ["other"]

    with pytest.raises(DeadlineExceeded, match="The deadline was over before"):
        api.wait(ticket)
    assert api.status().reserved_requests == 1
    again = api.submit(a_request("late"), within_s=600.0)
    assert take(worker) == ["late"]
    answer(worker, "late")
    assert api.wait(again).request_id == "late"


@pytest.mark.parametrize("within_s", [None, 3600.0])
def test_somebody_who_waits_longer_for_the_same_request_keeps_it_alive(
    house: RedisHouse, within_s: float | None
) -> None:
    api, worker = house.api(), house.worker()
    for each in (600.0, within_s, 300.0):
        api.submit(a_request("a"), within_s=each)

    (delivery,) = worker.exchange((), AMPLE).deliveries

    assert delivery.left_s > 1800.0
