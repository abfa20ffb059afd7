"""Claims that stand while the model computes: what they take, what breaks them, and what travels beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from scheduler.messages import NO_CAPACITY, FreeCapacity, Inbox
from tests.mailbox_house import RedisHouse, a_request, an_answer, eventually, ids_of, take_one
from worker.queue import worker_end
from worker.queue.connection import Address
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture
def busy_worker(redis_url: str) -> Iterator[WorkerMailbox]:
    """As it ships: its claims stand."""
    worker = WorkerMailbox(Address(redis_url))
    worker.open(lambda: True)
    yield worker
    worker.close()


def num_blocked(client: Redis) -> int:
    return client.info("clients")["blocked_clients"]


def test_a_full_worker_claims_nothing_and_takes_again_with_its_next_answer(
    house: RedisHouse, busy_worker: WorkerMailbox, client: Redis
) -> None:
    api = house.api()
    api.submit(a_request("a"))
    assert take_one(busy_worker).request.request_id == "a"
    eventually(lambda: num_blocked(client) == 0)  # the claim that stood beside it is over
    api.submit(a_request("b"))

    client.config_resetstat()
    for _ in range(10):
        assert busy_worker.exchange((), NO_CAPACITY, wait_s=0.02) == Inbox()
    claimed, waiting = "cmdstat_blmove" in client.info("commandstats"), client.lrange("rq:queue:correct", 0, -1)
    taken = busy_worker.exchange([an_answer("a")], FreeCapacity(42), wait_s=0.5)

    assert (claimed, waiting) == (False, [b"b"])
    assert ids_of(taken) == ["b"]


@pytest.mark.parametrize("capacity", [NO_CAPACITY, FreeCapacity(42)], ids=["full", "with capacity"])
def test_a_worker_that_computes_hears_of_a_cancellation(
    house: RedisHouse, busy_worker: WorkerMailbox, capacity: FreeCapacity
) -> None:
    api = house.api()
    api.submit(a_request("a"))
    assert take_one(busy_worker).request.request_id == "a"
    busy_worker.exchange((), capacity)

    api.cancel("a")

    told = eventually(lambda: busy_worker.exchange((), capacity).cancelled_ids)
    assert told == ("a",)
    eventually(lambda: api.status().reserved_requests == 0)


def test_a_claim_that_stands_gives_nothing_to_read_before_something_comes(
    house: RedisHouse, busy_worker: WorkerMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_end, "_BUSY_CLAIM_S", 1.5)
    house.api().submit(a_request("a"))
    assert take_one(busy_worker).request.request_id == "a"

    has_reply = busy_worker._claims.has_reply(0.1)

    assert not has_reply  # the next exchange would wait for the rest of the packet, and so would the model
