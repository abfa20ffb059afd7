"""Values in Redis that none of our scripts wrote: each harms at most its own request, or its own number."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from redis import Redis

from scheduler.capacity.measure import measure
from scheduler.errors import RemovedByOperator
from scheduler.messages import Completion, FinishReason
from scheduler.settings import Settings
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, take
from tests.recorded_requests import a_record
from worker.queue.connection import Address, RedisConnection, script

JUNK = ("abc", "nan", "inf", "-1e300", "1e20", b"\xff\xfe")
NUMBERS = ("attempts", "accepted_at", "reserved_tokens", "deadline", "result_ttl", "ticket")


@pytest.fixture
def client(redis_url: str) -> Redis:
    return Redis.from_url(redis_url)


@pytest.mark.parametrize("field", NUMBERS)
def test_a_field_that_is_no_number_harms_no_other_request(house: RedisHouse, client: Redis, field: str) -> None:
    api, worker = house.api(), house.worker()
    names = [f"bad{number}" for number in range(len(JUNK))]
    good = api.submit_all([a_request(name) for name in (*names, "good")])

    def spoil() -> None:
        for name, junk in zip(names, JUNK, strict=True):
            client.hset(f"rq:job:{name}", field, junk)

    spoil()
    take(worker)
    spoil()  # and once more while they run
    worker._ask(script("leave", worker.name))
    came_back = set(client.lrange("rq:queue:correct", 0, -1))
    successor = house.worker()
    eventually(lambda: answer(successor, *take(successor)) and not api.status().reserved_requests)

    assert b"good" in came_back
    assert eventually(lambda: good.outcomes["good"]) == an_answer("good")
    assert 0 <= measure(api.observe(), Settings()).utilization < 10


@pytest.mark.parametrize("place", ["queued", "started"])
def test_a_job_that_is_no_hash_counts_as_deleted(house: RedisHouse, client: Redis, place: str) -> None:
    api, worker = house.api(), house.worker()
    bad, good = api.submit(a_request("bad")), api.submit(a_request("good"))
    taken = take(worker) if place == "started" else []
    client.delete("rq:job:bad")
    client.set("rq:job:bad", "junk")

    answer(worker, *(taken or take(worker)))

    assert api.wait(good).request_id == "good"
    with pytest.raises(RemovedByOperator):
        api.wait(bad)
    assert api.status().reserved_requests == 0


def test_a_result_that_is_no_stream_is_replaced_by_the_answer(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    client.set("rq:results:a", "junk")

    answer(worker, *take(worker))

    assert api.wait(ticket) == an_answer("a")
    assert client.xlen("rq:results:a") == 1


def test_an_id_that_nobody_may_have_is_dropped(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"))
    for name in (b"\xff", b"a b", b"../a", b"x" * 1000):
        client.hset(b"rq:job:" + name, mapping={"status": "queued", "data": "[]"})
        client.lpush("rq:queue:correct", name)

    assert take(worker) == ["a"]
    assert client.llen("rq:queue:correct") == 0


def test_a_record_that_is_broken_harms_only_who_asks_for_it(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    broken = [(field, junk) for field in ("open", "jobs", "maker", "document") for junk in (b"abc", b"\xff\xfe")]
    names = [f"bad{number}" for number in range(len(broken) + 2)]
    for name in names:
        api.submit_recorded(a_record(name, key=name), [a_request(name)])
    good = api.submit(a_request("good"))
    for name, (field, junk) in zip(names, broken, strict=False):
        client.hset(f"miniserve:request:{name}", field, junk)
    for key in (f"miniserve:request:{names[-2]}", f"miniserve:key:{names[-1]}", "miniserve:key:new"):
        client.delete(key)
        client.lpush(key, "junk")

    eventually(lambda: answer(worker, *take(worker)) and not api.status().reserved_requests)

    assert api.wait(good).request_id == "good"
    assert all(found is None or found.jobs for found in map(api.find, names))
    assert api.submit_recorded(a_record("new", key="new"), [a_request("new")]).request_id == "new"
    assert client.get("miniserve:key:new") == b"new"


SUMS = ("accepted", "done", "law_us", "stay_us", "reserved_tokens", "service_rate", b"\xff")
TOTALS = (
    "prompt_tokens", "rejected:queue-full", "iteration:n", "e2e_request_latency:3", "http:x", b"\xff",
)  # fmt: skip
ROWS = ("junk", '{"done": 1}', '{"at_s": "x", "done": 1, "iterations": 3}', b"\xff", '["done"]')
FACTS = ("num_running", "num_waiting", "kv_reserved_tokens", "turned_at", "role")


def fill(key: str, fields: Sequence[str | bytes], junk: str | bytes) -> Callable[[Redis, str], object]:
    return lambda redis, worker: redis.hset(key.format(worker), mapping=dict.fromkeys(fields, junk))


def lease(worker: bytes, kind: str) -> Callable[[Redis, str], object]:
    def write(redis: Redis, _: str) -> None:
        redis.zadd("miniserve:leases", {worker: 1e12})
        if kind == "hash":
            redis.hset(b"rq:worker:" + worker, "turned_at", "1e12")
        else:
            redis.set(b"rq:worker:" + worker, "junk")

    return write


BREAKAGES: dict[str, Callable[[Redis, str], object]] = {
    "totals": fill("miniserve:totals", TOTALS, "abc"),
    "infinite totals": fill("miniserve:totals", TOTALS, "1e999"),
    "counts": fill("miniserve:counts", SUMS, "abc"),
    "nan counts": fill("miniserve:counts", SUMS, "nan"),
    "totals of another type": lambda redis, _: redis.set("miniserve:totals", "junk"),
    "history": lambda redis, _: redis.rpush("miniserve:history", *ROWS),
    "a worker's facts": fill("rq:worker:{}", FACTS, b"\xff"),
    "a worker of another type": lease(b"x", "string"),
    "a worker's name": lease(b"\xff", "hash"),
    "rates": fill("miniserve:rates", ["x"], "abc"),
    "roles of rates": fill("miniserve:rates", ["x"], "1 abc def"),
    "reservations": fill("miniserve:reservations", ["x"], "abc"),
    "the time of the first in line": fill("rq:job:a", ["accepted_at"], "nan"),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_what_is_broken_in_the_sums_breaks_no_look_at_them_and_no_beat(
    house: RedisHouse, client: Redis, name: str
) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"))
    BREAKAGES[name](client, worker.name)

    connection = RedisConnection(house.address)
    connection.ask_one(script("beat", worker.name, 2, "0.0", 0, "1.0", "role", "all"))
    connection.ask_one(script("report", "process", 1, "1", "prompt_tokens", "3"))
    seen = api.observe()
    connection.close()

    json.dumps(seen.totals | seen.counts, allow_nan=False)
    measure(seen, Settings())
    assert api.status().redis_ok


def test_nothing_is_put_away_because_a_user_may_not_ask_for_its_length(house: RedisHouse, client: Redis) -> None:
    house.api().submit(a_request("a"))
    eventually(lambda: client.llen("rq:queue:correct") == 1)
    client.acl_setuser("narrow", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-llen"])
    try:
        port = client.get_connection_kwargs()["port"]
        connection = RedisConnection(Address(f"redis://narrow:x@127.0.0.1:{port}"))
        connection.ask(script("observe", "3"))
        connection.close()
    finally:
        client.acl_deluser("narrow")

    assert client.llen("rq:queue:correct") == 1


def test_a_dead_letter_with_a_broken_field_is_still_put_back(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"))
    take(worker)
    worker.exchange([Completion("a", FinishReason.ERROR, error="x")], AMPLE)
    client.hset("rq:job:a", "reserved_tokens", "abc")

    connection = RedisConnection(house.address)
    connection.ask_one(script("revive", "a"))
    connection.close()

    assert take(worker) == ["a"]
