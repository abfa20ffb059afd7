"""Acceptance and delivery: bounds, shares, waking, shutdown."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from scheduler.errors import QueueFull, RateLimited, ShuttingDown
from scheduler.messages import Delivery, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, a_request, eventually, ids_of, take, unblocked
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


def test_a_request_reaches_the_worker_as_it_was_sent(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    request = a_request("one")

    api.submit(request)
    (delivery,) = worker.exchange((), AMPLE).deliveries

    assert delivery == Delivery(request, attempt=1, waited_s=delivery.waited_s, left_s=delivery.left_s)
    assert 0 <= delivery.waited_s < 5


def test_a_full_queue_says_what_it_holds_and_takes_nothing(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_requests=3))
    for number in range(3):
        api.submit(a_request(f"r{number}"))

    with pytest.raises(QueueFull, match=r"3 of 3 requests and 126 of") as refusal:
        api.submit(a_request("one-too-many"))

    assert 1 <= refusal.value.retry_after_s <= 120
    assert api.status().reserved_requests == 3


def test_while_another_waits_a_client_holds_at_most_half(house: RedisHouse) -> None:
    api = house.api(MailboxLimits(max_requests=32))
    for client, number in (("2", 3), ("1", 16)):
        for name in (f"{client}-{each}" for each in range(number)):
            api.submit_recorded(a_record(name, is_async=True, client=client), [a_request(name)])

    with pytest.raises(RateLimited, match="holds 16 requests and 672 .* it may hold half: 16 and") as refusal:
        api.submit_recorded(a_record("more", is_async=True, client="1"), [a_request("more")])

    assert 1 <= refusal.value.retry_after_s <= 60
    assert api.observe().counts["refused_share"] == 1


def test_a_request_to_be_followed_is_refused_before_it_is_followed(house: RedisHouse) -> None:
    """A stream has one status, and this is the last moment for it."""
    api = house.api(MailboxLimits(max_requests=1))
    api.submit(a_request("first"))

    with pytest.raises(QueueFull):
        api.submit_recorded(a_record("second", is_followed=True), [a_request("second")])


def test_the_first_request_that_does_not_fit_is_named_and_stays_in_the_queue(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    for name in ("a", "b", "c"):
        api.submit(a_request(name))

    inbox = worker.exchange((), FreeCapacity(50))

    assert (ids_of(inbox), inbox.deferred_id) == (["a"], "b")
    status = api.status()
    assert (status.redis_ok, status.live_workers, status.queue_depth) == (True, 1, 2)
    assert (status.reserved_requests, status.reserved_tokens) == (3, 126)


def test_each_of_two_workers_gets_its_share(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    for number in range(9):
        api.submit(a_request(f"r{number}"))

    assert take(one) == ["r0", "r1", "r2", "r3", "r4"]
    assert take(two) == ["r5", "r6"]


def test_an_idle_worker_is_woken_by_the_first_request(house: RedisHouse) -> None:
    with closing(RedisHouse(house.address.url, WorkerMailbox)) as waking:  # its claims block
        api, worker = waking.api(), waking.worker()
        assert worker.exchange((), AMPLE, wait_s=0.01).deliveries == ()
        threading.Timer(0.1, api.submit, [a_request("a")]).start()

        inbox = unblocked(lambda: worker.exchange((), AMPLE, wait_s=60.0))

        assert ids_of(inbox) == ["a"]


def test_a_closed_mailbox_takes_nothing_and_cancels_what_its_clients_wait_for(house: RedisHouse) -> None:
    api, other = house.api(), house.api()
    ticket = api.submit(a_request("a"))

    api.close()

    with pytest.raises(ShuttingDown):
        api.submit(a_request("b"))
    with pytest.raises(ShuttingDown):
        api.wait(ticket)
    eventually(lambda: not other.status().reserved_requests)
