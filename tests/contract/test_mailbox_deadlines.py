"""Deadlines: refused at once where the load promises no answer in time, never begun once it is too late."""

from __future__ import annotations

import pytest

from scheduler.errors import DeadlineExceeded
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, answer, eventually, take
from worker.queue.protocol import WorkerReport
from worker.queue.worker_end import WorkerMailbox

RATE = 0.7  # reserved tokens per second


def a_worker_with_a_rate(house: RedisHouse, api: SubmittingMailbox) -> WorkerMailbox:
    worker = house.worker(lambda: WorkerReport(service_rate_tokens_per_s=RATE))
    eventually(lambda: api.status().service_rate_tokens_per_s == RATE)
    return worker


def test_what_the_load_cannot_answer_in_time_is_refused_at_once_and_leaves_nothing(house: RedisHouse) -> None:
    api = house.api()
    worker = a_worker_with_a_rate(house, api)
    api.submit(a_request("first"))

    with pytest.raises(DeadlineExceeded, match="At the present load the answer would come after") as refusal:
        api.submit(a_request("late"), within_s=0.9 * 84 / RATE)

    assert "nothing was queued" in str(refusal.value)
    assert api.status().reserved_requests == 1
    api.submit(a_request("in time"[:2]), within_s=1.1 * 84 / RATE)
    assert take(worker) == ["first", "in"]


def test_an_empty_queue_takes_what_a_bad_rate_would_refuse(house: RedisHouse) -> None:
    api = house.api()
    worker = a_worker_with_a_rate(house, api)

    api.submit(a_request("a"), within_s=0.5 * 42 / RATE)

    assert take(worker) == ["a"]


def test_what_expired_may_be_sent_again(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"), within_s=600.0)
    house.end_deadline("a")
    assert take(worker) == []

    ticket = api.submit(a_request("a"), within_s=600.0)

    assert take(worker) == ["a"]
    answer(worker, "a")
    assert api.wait(ticket).request_id == "a"
    assert api.status().reserved_requests == 0


def test_before_any_rate_is_known_nothing_is_refused_for_being_late(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()

    api.submit(a_request("a"), within_s=300.0)

    assert take(worker) == ["a"]


def test_what_waited_past_its_deadline_is_never_begun_and_who_waits_is_told_so(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("late"), within_s=600.0)
    api.submit(a_request("other"), within_s=600.0)
    house.end_deadline("late")

    assert take(worker) == ["other"]

    with pytest.raises(DeadlineExceeded, match="The deadline was over before"):
        api.wait(ticket)
    assert api.status().reserved_requests == 1


@pytest.mark.parametrize("within_s", [None, 3600.0])
def test_somebody_who_waits_longer_for_the_same_request_keeps_it_alive(
    house: RedisHouse, within_s: float | None
) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"), within_s=600.0)
    api.submit(a_request("a"), within_s=within_s)
    api.submit(a_request("a"), within_s=300.0)

    (delivery,) = worker.exchange((), AMPLE).deliveries
    assert delivery.left_s > 1800.0
