"""The connection of an API process: what breaks one packet or one message breaks no other."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hiredis import pack_command
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.errors import DeadlineExceeded, NotReady, RequestFailed, ServingError
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    SubmittingMailbox,
    a_bare_submission,
    a_request,
    an_answer,
    answer,
    eventually,
    take,
    unblocked,
    waiting,
)
from tests.pace import patient
from tests.recorded_requests import a_record
from worker.queue import api_end, api_link
from worker.queue.connection import Address, Command, RedisConnection
from worker.queue.protocol import Submission

T = TypeVar("T")


class Oddity(Exception):
    """Nothing that is expected."""


def failing_once(real: Callable[..., T]) -> Callable[..., T]:
    """The same but for its first call."""
    faults = iter([Oddity("by a test")])

    def call(*arguments: Any) -> T:
        for fault in faults:
            raise fault
        return real(*arguments)

    return call


def test_a_link_outlives_whatever_one_packet_raises(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    api = house.api()
    api.submit(a_request("before"))

    monkeypatch.setattr(RedisConnection, "send", failing_once(RedisConnection.send))
    with pytest.raises(NotReady):
        api.submit(a_request("lost"))

    assert api.submit(a_request("after")).request_id == "after"


def test_a_link_outlives_whatever_one_message_raises(house: RedisHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_link, "POLL_S", 60.0)  # only what the subscription brings counts
    api, worker = house.api(), house.worker()
    first, second = api.submit(a_request("a")), api.submit(a_request("b"))

    monkeypatch.setattr(api_end.formats, "decode_news", failing_once(api_end.formats.decode_news))
    assert take(worker) == ["a", "b"]
    worker.exchange([an_answer("a")], AMPLE)
    worker.exchange([an_answer("b")], AMPLE)

    assert [api.wait(ticket).request_id for ticket in (first, second)] == ["a", "b"]


def test_a_connection_that_cannot_be_opened_is_tried_again_whatever_it_raises(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RedisConnection, "open", failing_once(RedisConnection.open))

    assert house.api().submit(a_request("a")).request_id == "a"


def test_a_connection_is_opened_also_while_all_threads_of_the_loop_are_taken(house: RedisHouse) -> None:
    api, is_over = house.api(), threading.Event()
    for _ in range(64):
        api.loop.call_soon_threadsafe(api.loop.run_in_executor, None, is_over.wait)
    try:
        assert eventually(lambda: api.status().redis_ok)
    finally:
        is_over.set()


def test_the_loop_does_not_wait_for_a_redis_that_takes_a_large_packet_slowly(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_link, "_MOST_AT_ONCE", 0, raising=False)
    api, is_sending, goes_on = house.api(), threading.Event(), threading.Event()
    assert eventually(lambda: api.status().redis_ok)
    real = RedisConnection.send

    def send(connection: RedisConnection, *commands: Command) -> None:
        is_sending.set()
        assert goes_on.wait(patient(20))
        real(connection, *commands)

    monkeypatch.setattr(RedisConnection, "send", send)
    wait = asyncio.run_coroutine_threadsafe(api.own.enqueue(a_bare_submission([a_request("a")])), api.loop)
    assert is_sending.wait(patient(20))

    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), api.loop).result(patient(10))

    goes_on.set()
    assert wait.result(patient(20)) is None
    assert take(house.worker()) == ["a"]


def test_a_request_whose_reply_does_not_come_is_sent_again_and_counts_once(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_end, "SUBMIT_PATIENCE_S", patient(20))
    monkeypatch.setattr(api_link, "_REPLY_WITHIN_S", 0.3)
    api, lost, real = house.api(), iter([True]), RedisConnection.receive_ready
    assert api.status().redis_ok
    monkeypatch.setattr(RedisConnection, "receive_ready", lambda self: real(self)[: 0 if next(lost, False) else None])
    wanted = a_bare_submission([a_request("a")])
    wanted.may_be_known = False

    api.enqueue(wanted)
    eventually(lambda: wanted.run_id)

    assert (api.status().queue_depth, next(lost, False)) == (1, False)


@pytest.fixture
def api_of_hung_redis(
    request: pytest.FixtureRequest, private_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SubmittingMailbox]:
    """It has answered before, or never, and says nothing now."""
    monkeypatch.setattr(api_end, "SUBMIT_PATIENCE_S", 0.3)
    monkeypatch.setattr(api_link, "_REPLY_WITHIN_S", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        has_answered = getattr(request, "param", True)
        url = private_redis.url if has_answered else f"redis://127.0.0.1:{silent.getsockname()[1]}"
        api = SubmittingMailbox(Address(url, 3600.0))
        assert not has_answered or api.status().redis_ok
        os.kill(private_redis.pid, signal.SIGSTOP)
        yield api
        os.kill(private_redis.pid, signal.SIGCONT)
    api.close()


def assert_refused_in_time(
    api: SubmittingMailbox, wanted: Submission, allowed_s: float = 3600.0, error: type[ServingError] = NotReady
) -> None:
    wanted.within_s = allowed_s

    async def correct() -> None:
        await api.own.enqueue(waiting(wanted, allowed_s))
        time.sleep(0.2)  # a busy loop: it looks for calls without a reply before it looks for waits that are over
        await api.own.wait(wanted)

    with pytest.raises(error):
        unblocked(lambda: api.call(correct()))


@pytest.mark.parametrize("api_of_hung_redis", [False, True], indirect=True)
def test_a_request_waits_for_a_redis_that_hangs_no_longer_than_its_patience(
    api_of_hung_redis: SubmittingMailbox,
) -> None:
    plain, kept = a_bare_submission([a_request("plain")]), a_record("kept", is_async=True)
    plain.may_be_known = False

    for wanted in (plain, api_of_hung_redis.recorded(kept, [a_request("kept")])):
        assert_refused_in_time(api_of_hung_redis, wanted)


@pytest.mark.parametrize("record", [a_record("r"), a_record("r", is_async=True), a_record("r", "key")])
def test_a_request_whose_own_deadline_ends_first_is_late_also_where_redis_hangs(
    api_of_hung_redis: SubmittingMailbox, record: Submission
) -> None:
    wanted = api_of_hung_redis.recorded(record, [a_request("r")])

    assert_refused_in_time(api_of_hung_redis, wanted, 0.15, DeadlineExceeded)


@pytest.mark.parametrize(("allowed_s", "error"), [(3600.0, NotReady), (0.15, DeadlineExceeded)])
@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_what_redis_accepts_after_its_client_was_refused_is_called_off(
    private_redis: EmbeddedRedis,
    api_of_hung_redis: SubmittingMailbox,
    names: list[str],
    allowed_s: float,
    error: type[ServingError],
) -> None:
    wanted = a_bare_submission(list(map(a_request, names)))
    wanted.may_be_known = False
    assert_refused_in_time(api_of_hung_redis, wanted, allowed_s, error)

    os.kill(private_redis.pid, signal.SIGCONT)

    rows = Redis.from_url(private_redis.url, protocol=3)
    assert eventually(lambda: rows.hget("rq:job:a", "status"))
    assert eventually(lambda: rows.llen("rq:queue:correct") == 0)


def test_a_packet_is_bounded_in_bytes_however_many_requests_wait(house: RedisHouse) -> None:
    api, sizes = house.api(), []
    connection, send = api.own._link._connection, api.own._link._connection.send
    connection.send = lambda *commands: (sizes.append(sum(map(len, map(pack_command, commands)))), send(*commands))
    records = [replace(a_record(f"r{number}", is_async=True), document="x" * 40_000) for number in range(40)]

    api.enqueue(*[api.recorded(record, [a_request(record.request_id)]) for record in records])

    assert api.status().queue_depth == 40
    assert len(sizes) > 5
    assert max(sizes) < 256 * 1024 + 50_000


def test_a_request_that_cannot_be_written_fails_alone_in_its_packet(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    first, bad, last = wanted = [
        api.recorded(a_record(name), [a_request(name, size)])
        for name, size in (("first", 10), ("bad", 300), ("last", 10))  # a word's number is one byte
    ]
    api.enqueue(*wanted)
    eventually(lambda: answer(worker, *take(worker)) and not api.status().reserved_requests)

    assert [api.wait(one, 5).request_id for one in (first, last)] == ["first", "last"]
    with pytest.raises(RequestFailed):
        api.wait(bad, 5)


def lose(client: Redis, wanted: Submission) -> None:
    """As a Redis that comes back without its last moments."""
    client.delete(f"rq:job:{wanted.request_id}", "rq:queue:correct")
    client.hdel("miniserve:reservations", wanted.request_id)
    wanted.run_id = "of the Redis before"


def test_what_redis_has_lost_is_sent_again_with_what_is_left_of_its_time_and_paid_for_once(
    house: RedisHouse, client: Redis
) -> None:
    api = house.api()
    record = a_record("r", client="1", limits="0.01 0")
    wanted = api.submit_recorded(record, [a_request("r")], within_s=1000.0)
    eventually(lambda: wanted.run_id)
    deadline, used = float(client.hget("rq:job:r", "ticket").split()[4]), client.get("miniserve:limit:1")

    wanted.since_s -= 400.0  # so long ago
    lose(client, wanted)

    assert eventually(lambda: client.exists("rq:job:r"))
    assert deadline - float(client.hget("rq:job:r", "ticket").split()[4]) == pytest.approx(400.0, abs=100.0)
    assert client.get("miniserve:limit:1") == used
