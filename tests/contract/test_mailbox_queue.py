"""Acceptance and delivery: bounds, shares, waking, shutdown."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from scheduler.errors import QueueFull, RateLimited, ShuttingDown
from tests.mailbox_house import AMPLE, RedisHouse, a_request, eventually, ids_of, unblocked
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


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
