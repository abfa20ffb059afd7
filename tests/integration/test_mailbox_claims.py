"""Claims that stand while the model computes: what they take, what breaks them, and what travels beside them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from scheduler.errors import DeadlineExceeded, QueueFull
from scheduler.messages import NO_CAPACITY, FreeCapacity, Inbox
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    a_bare_submission,
    a_request,
    an_answer,
    answer,
    eventually,
    ids_of,
    take,
    take_one,
)
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue import api_listener, worker_end
from worker.queue.connection import RedisConnection, script
from worker.queue.protocol import LEASE_S, MailboxDown, MailboxLimits
from worker.queue.redis_py import connect
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def busy_worker(redis_url: str) -> Iterator[WorkerMailbox]:
    """As it ships: its claims stand."""
    worker = WorkerMailbox(connect(redis_url))
    worker.open(lambda: True)
    yield worker
    worker.close()


def num_blocked(client: Redis) -> int:
    return client.info("clients")["blocked_clients"]


def test_a_claim_of_an_earlier_epoch_goes_back(house: RedisHouse, redis_url: str, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    for request_id in ("claimed", "waiting"):
        api.submit(a_request(request_id))
    client.lmove("rq:queue:correct", f"miniserve:claim:{worker.name}", "LEFT", "RIGHT")
    about = (AMPLE.tokens, AMPLE.requests, 0, 0, "0", 1)
    late = script("drain", worker.name, LEASE_S, worker._epoch - 1, *about)

    needs_resync, *_, deliveries = RedisConnection(connect(redis_url)).ask(late)[0]

    assert (needs_resync, deliveries) == (1, [])
    assert client.zcard("rq:wip:correct") == 0
    assert client.lrange("rq:queue:correct", 0, -1) == ["claimed", "waiting"]
    assert take(worker) == ["claimed", "waiting"]


def test_what_a_broken_connection_had_claimed_goes_back_to_its_place(house: RedisHouse, client: Redis) -> None:
    api, broken = house.api(), house.worker()
    assert take(broken) == []
    for request_id in ("first", "second", "third"):
        api.submit(a_request(request_id))
    for _ in range(2):
        client.lmove("rq:queue:correct", f"miniserve:claim:{broken.name}", "LEFT", "RIGHT")
    client.client_kill_filter(_type="normal")
    with pytest.raises(MailboxDown):
        broken.exchange((), AMPLE)

    assert eventually(lambda: _exchange_without_capacity(broken)) == Inbox()

    assert client.lrange("rq:queue:correct", 0, -1) == ["first", "second", "third"]
    assert take(house.worker()) == ["first", "second"]  # its share


def _exchange_without_capacity(worker: WorkerMailbox) -> Inbox | None:
    try:
        return worker.exchange((), NO_CAPACITY)
    except MailboxDown:
        return None


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

    assert (claimed, waiting) == (False, ["b"])
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


def test_who_waits_for_what_its_turn_finds_too_late_is_told_at_once(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_listener, "POLL_S", 60.0)
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("late"), within_s=600.0)
    house.end_deadline("late")

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(api.wait, ticket)
        assert take(worker) == []
        with pytest.raises(DeadlineExceeded, match="was over before the answer"):
            waiting.result()


def test_of_requests_that_one_script_enqueues_each_is_refused_by_itself(queue: ScriptedQueue) -> None:
    jobs = [tuple(map(a_request, ids)) for ids in (("a", "b"), ("c", "d"), ("e",), ("f",))]
    wanted = [a_bare_submission(each) for each in jobs]
    queue.limits = MailboxLimits(max_requests=3)

    replies = queue.send(wanted)

    assert [reply[0] for reply in replies] == [b"accepted", b"full", b"accepted", b"full"]
    queue.beat("w")
    assert queue.drain("w") == ["a", "b", "e"]
    seen = queue.observe()
    assert (seen.counts["refused_full"], seen.now.refused, seen.reserved_tokens) == (2, 3, 3 * 42)


def test_http_requests_of_one_packet_are_accepted_up_to_the_bound_by_one_script(house: RedisHouse) -> None:
    api, worker = house.api(MailboxLimits(max_requests=3)), house.worker()
    sent, send = [], api.own._sender._connection.send
    api.own._sender._connection.send = lambda *commands: (sent.extend(commands), send(*commands))
    names = [f"r{number}" for number in range(5)]
    accepted = [api.recorded(a_record(name), [a_request(name)]) for name in names]
    api.enqueue(*accepted)
    eventually(lambda: api.status().queue_depth == 3)
    answer(worker, *take(worker))

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(api.wait_all, each) for each in accepted]
        outcomes = [each.exception() or each.result()[0].request_id for each in waiting]

    assert outcomes[:3] == names[:3]
    assert [type(outcome) for outcome in outcomes[3:]] == [QueueFull] * 2
    assert [command[1] for command in sent].count(script("enqueue")[1]) == 1


def test_a_claim_that_stands_gives_nothing_to_read_before_something_comes(
    house: RedisHouse, busy_worker: WorkerMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_end, "_BUSY_CLAIM_S", 1.5)
    house.api().submit(a_request("a"))
    assert take_one(busy_worker).request.request_id == "a"

    has_reply = busy_worker._claims.has_reply(0.1)

    assert not has_reply  # the next exchange would wait for the rest of the packet, and so would the model
