"""Acceptance and delivery: bounds, order, shares, hand back."""

from __future__ import annotations

import threading

import pytest

from scheduler.errors import QueueFull, ShuttingDown
from scheduler.messages import Delivery, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, a_request, answer, eventually, ids_of, take, unblocked
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits


def test_a_request_reaches_the_worker_as_it_was_sent(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    request = a_request("one")

    api.submit(request)
    (delivery,) = worker.exchange((), AMPLE).deliveries

    assert delivery == Delivery(request, attempt=1, waited_s=delivery.waited_s, left_s=delivery.left_s)
    assert 0 <= delivery.waited_s < 5


def test_exactly_as_many_requests_as_allowed_are_accepted(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_requests=3))
    for number in range(3):
        api.submit(a_request(f"r{number}"))

    with pytest.raises(QueueFull, match=r"3 of 3 requests and 126 of") as refusal:
        api.submit(a_request("one-too-many"))

    assert 1 <= refusal.value.retry_after_s <= 120
    assert api.status().reserved_requests == 3


def test_exactly_as_many_tokens_as_allowed_are_accepted(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_tokens=100))
    api.submit(a_request("a", num_prompt_tokens=18))
    with pytest.raises(QueueFull):
        api.submit(a_request("b", num_prompt_tokens=19))

    api.submit(a_request("c", num_prompt_tokens=18))

    assert api.status().reserved_tokens == 100


def test_a_request_to_be_followed_is_refused_before_it_is_followed(house: RedisHouse) -> None:
    """A stream has one status, and this is the last moment for it."""
    api = house.api(MailboxLimits(max_requests=1))
    api.submit(a_request("first"))

    with pytest.raises(QueueFull):
        api.submit_recorded(a_record("second", is_followed=True), [a_request("second")])


def test_a_refusal_says_when_to_come_back_by_the_measured_rate(house: RedisHouse) -> None:
    api, worker = house.api(MailboxLimits(max_requests=1)), house.worker()
    api.submit(a_request("a"))

    with pytest.raises(QueueFull) as refusal:
        api.submit(a_request("b"))

    assert 2 <= refusal.value.retry_after_s <= 4  # nothing was finished yet, so no rate is known
    assert take(worker) == ["a"]


def test_the_same_request_sent_twice_runs_once(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()

    first, second = api.submit(a_request("same")), api.submit(a_request("same"))
    assert take(worker) == ["same"]
    answer(worker, "same")

    assert api.wait(first) == api.wait(second)
    assert api.status().reserved_requests == 0


def test_the_first_request_that_does_not_fit_is_named_and_stays_in_the_queue(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))

    inbox = worker.exchange((), FreeCapacity(50))

    assert (ids_of(inbox), inbox.deferred_id) == (["a"], "b")
    assert api.status().queue_depth == 2


def test_each_of_two_workers_gets_its_share(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    for number in range(9):
        api.submit(a_request(f"r{number}"))

    assert take(one) == ["r0", "r1", "r2", "r3", "r4"]
    assert take(two) == ["r5", "r6"]
    assert api.status().queue_depth == 2


def test_what_a_leaving_worker_held_comes_first_and_uncounted(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))
    assert take(one, free_tokens=90) == ["a", "b"]

    one.close()
    inbox = two.exchange((), AMPLE)

    assert ids_of(inbox) == ["a", "b", "c"]
    assert [delivery.attempt for delivery in inbox.deliveries] == [1, 1, 1]


def test_an_idle_worker_is_woken_by_the_first_request(waking_house: RedisHouse) -> None:
    api, worker = waking_house.api(), waking_house.worker()
    assert worker.exchange((), AMPLE, wait_s=0.01).deliveries == ()
    threading.Timer(0.1, api.submit, [a_request("a")]).start()

    inbox = unblocked(lambda: worker.exchange((), AMPLE, wait_s=60.0))

    assert ids_of(inbox) == ["a"]


def test_an_exchange_that_may_not_wait_returns_at_once(house: RedisHouse) -> None:
    assert unblocked(lambda: house.worker().exchange((), AMPLE)).deliveries == ()


def test_a_closed_mailbox_takes_nothing_and_answers_who_waits(house: RedisHouse) -> None:
    api = house.api()
    ticket = api.submit(a_request("a"))

    api.close()

    with pytest.raises(ShuttingDown):
        api.wait(ticket)
    with pytest.raises(ShuttingDown):
        api.submit(a_request("b"))


def test_the_status_counts_what_waits_and_what_is_reserved(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))
    assert take(worker, free_tokens=42) == ["a"]

    status = api.status()

    assert (status.redis_ok, status.live_workers, status.queue_depth) == (True, 1, 2)
    assert (status.reserved_requests, status.reserved_tokens) == (3, 126)


def test_the_request_of_who_is_told_of_the_shutdown_is_cancelled(house: RedisHouse) -> None:
    api, other = house.api(), house.api()
    ticket = api.submit(a_request("a"))

    api.close()
    with pytest.raises(ShuttingDown):
        api.wait(ticket)

    eventually(lambda: not other.status().reserved_requests)
