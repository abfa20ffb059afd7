"""What clients hold of the queue, as Redis counts it."""

from __future__ import annotations

import pytest
from redis import Redis
from rq.job import Job
from rq.serializers import JSONSerializer

from scheduler.errors import RateLimited
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import RedisHouse, a_request, answer, eventually, take
from tests.recorded_requests import a_record
from worker.mailbox.connection import RedisConnection, script
from worker.mailbox.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=32, max_tokens=100_000)


@pytest.fixture
def client(redis_url: str) -> Redis:
    return Redis.from_url(redis_url)


def submit(house: RedisHouse, client: str, number: int, limits: MailboxLimits = LIMITS) -> None:
    """Each by a replica of its own."""
    name = f"{client}-{number}"
    house.api(limits).submit_recorded(a_record(name, is_async=True, client=client), [a_request(name)])


def test_the_share_counts_over_all_replicas(house: RedisHouse) -> None:
    submit(house, "2", 0)
    submit(house, "2", 1)
    accepted = 0
    with pytest.raises(RateLimited):
        for number in range(40):
            submit(house, "1", number)
            accepted += 1

    assert 14 <= accepted <= 16


def test_a_queue_that_is_nearly_empty_counts_nothing(house: RedisHouse, client: Redis) -> None:
    for number in range(3):
        submit(house, "1", number, MailboxLimits())

    assert not client.exists("miniserve:clients")
    assert client.hget("rq:job:1-0", "share") == b""


def test_nothing_is_left_of_clients_that_hold_nothing(house: RedisHouse, client: Redis) -> None:
    worker = house.worker()
    for number in range(5):
        submit(house, str(number + 1), number)
    held = client.hlen("miniserve:clients")

    answer(worker, *take(worker))

    assert (held, client.hlen("miniserve:clients"), client.hget("miniserve:counts", "shares")) == (3, 0, b"0")


def test_what_a_deleted_job_held_is_found_again(house: RedisHouse, client: Redis) -> None:
    connection = RedisConnection(house.connect())
    for number in range(4):
        submit(house, "1", number)
    before = int(client.hget("miniserve:clients", "1"))  # of two: the first two are anybody's
    for queue in ("rq:queue:correct", "rq:queue:correct-async"):
        client.lrem(queue, 1, "1-3")
    client.delete("rq:job:1-3")  # as a dashboard does

    connection.ask_one(script("reconcile"))
    connection.close()

    assert int(client.hget("miniserve:clients", "1")) == int(client.hget("miniserve:counts", "shares")) == before / 2


@pytest.mark.parametrize("notices", ["drain", "finish", "resync", "death"])
def test_what_a_job_held_that_is_deleted_anywhere_is_given_back(house: RedisHouse, client: Redis, notices: str) -> None:
    worker = house.worker()
    worker._heartbeat.stop()  # no beat puts it right before
    for number in range(4):
        submit(house, "1", number)
    before = int(client.hget("miniserve:clients", "1"))
    ids = ["1-3"] if notices == "drain" else take(worker)
    client.delete("rq:job:1-3")  # as a dashboard does

    if notices == "drain":
        assert take(worker) == ["1-0", "1-1", "1-2"]
    elif notices == "finish":
        answer(worker, ids[-1])
    elif notices == "resync":
        worker._needs_resync = True
        worker.exchange((), NO_CAPACITY)
    else:
        house.kill(worker)

    assert int(client.hget("miniserve:clients", "1")) == int(client.hget("miniserve:counts", "shares")) == before / 2


def test_shares_that_are_left_are_forgotten_when_the_queue_is_empty(house: RedisHouse, client: Redis) -> None:
    client.hset("miniserve:clients", "1", 99_999)
    client.hset("miniserve:counts", "shares", 99_999)

    house.worker()

    eventually(lambda: client.hget("miniserve:counts", "shares") == b"0")
    assert not client.exists("miniserve:clients")


@pytest.mark.parametrize("who", ["operator", "dashboard"])
def test_a_dead_letter_that_is_put_back_takes_nothing_from_its_clients_share(
    house: RedisHouse, client: Redis, who: str
) -> None:
    worker, connection = house.worker(), RedisConnection(house.connect())
    for number in range(4):
        submit(house, "1", number)
    ids = take(worker)
    worker.exchange([Completion(ids[-1], FinishReason.ERROR, error="it broke")], NO_CAPACITY)
    held = client.hgetall("miniserve:clients")

    if who == "operator":
        connection.ask_one(script("revive", ids[-1]))
    else:
        Job.fetch(ids[-1], connection=client, serializer=JSONSerializer).requeue()
    connection.close()
    other = house.worker()
    assert take(other) == [ids[-1]]
    answer(other, ids[-1])

    assert client.hgetall("miniserve:clients") == held != {}
    assert client.hget("miniserve:counts", "shares") == held[b"1"]
