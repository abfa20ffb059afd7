"""API replicas of release 0.7 beside workers of this one: workers are upgraded first."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest
from redis import Redis

from scheduler.messages import NO_CAPACITY, Progress
from tests.mailbox_house import RedisHouse, a_request, an_answer, eventually, take_one
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue

VERSION_1 = {
    "version": 1, "request_id": "old", "prompt_ids": list(range(10)), "word_numbers": list(range(10)),
    "max_output_tokens": 32, "tokenizer_fingerprint": "fingerprint", "learner_id": None,
}  # fmt: skip
LAW_SINCE_S = 1_700_000_000


def test_a_request_of_an_earlier_version_is_read_and_answered_in_it(house: RedisHouse, redis_url: str) -> None:
    api, worker, heard = house.api(), house.worker(), []
    ticket = api.submit(a_request("old"))
    with Redis.from_url(redis_url) as client, client.pubsub() as replica:
        client.hset("rq:job:old", "data", json.dumps(["miniserve.correct", None, [VERSION_1], {}]))
        replica.subscribe(client.hget("rq:job:old", "reply_to"))
        replica.get_message(timeout=5.0)
        request = take_one(worker).request
        worker.exchange((), NO_CAPACITY, progress=[Progress("old", (7,))])
        worker.exchange([an_answer("old", 7, 1)], NO_CAPACITY)
        eventually(lambda: (message := replica.get_message(timeout=0.1)) and heard.append(message) or len(heard) == 2)
        stored = client.xrevrange("rq:results:old", count=1)[0][1][b"return_value"]

    progress, answer = (json.loads(b64decode(message["data"])) for message in heard)
    assert (request.version, request.prompt_ids) == (1, tuple(range(10)))
    assert (progress["version"], progress["output_ids"]) == (1, [7])
    assert (answer["version"], answer["output_ids"]) == (1, [7, 1])
    assert json.loads(b64decode(stored)) == answer
    assert api.wait(ticket, 5) == an_answer("old", 7, 1)


@pytest.mark.parametrize("key", ["", "key"])
def test_what_an_earlier_replica_keeps_is_found_and_its_key_stands_for_it(
    house: RedisHouse, redis_url: str, key: str
) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("old"))
    record = {"document": "what was asked", "maker": "maker", "digest": "same", "jobs": "old", "open": 1}
    with Redis.from_url(redis_url) as client:  # as 0.7's ENQUEUE writes it
        client.hset(
            "rq:job:old",
            mapping={
                "request": "old",
                "data": json.dumps(["miniserve.correct", None, [VERSION_1], {}]),
            },
        )
        client.hset("miniserve:request:old", mapping=record)
        client.set("miniserve:key:key", "old")
    take_one(worker)
    worker.exchange([an_answer("old", 7, 1)], NO_CAPACITY)
    again = api.submit_recorded(a_record("new", key), [a_request("new")])

    found = api.find("old")

    assert (found.document, found.tokenizer_fingerprint) == ("what was asked", "maker")
    assert [job.state for job in found.jobs] == [an_answer("old", 7, 1)]
    assert again.request_id == ("old" if key else "new")


def test_an_earlier_replica_finds_what_this_one_keeps(house: RedisHouse, redis_url: str) -> None:
    house.api().submit_recorded(a_record("new", "key"), [a_request("new")])

    with Redis.from_url(redis_url, decode_responses=True) as client:
        kept = client.hmget("miniserve:request:new", "document", "maker", "digest", "jobs")
        assert kept == ["what was asked", "maker", "same", "new"]


def test_what_an_earlier_replica_reserves_and_releases_is_taken_over_by_the_next_beat(queue: ScriptedQueue) -> None:
    queue.accept("new")
    queue.now_s = 1.0
    accept_as_before(queue, "old-1", "old-2")
    queue.now_s = 3.0
    queue.beat("w")
    first = queue.observe()

    queue.now_s = 4.0
    accept_as_before(queue, "old-3")
    queue.beat("w")
    assert queue.drain("w") == ["new", "old-1", "old-2", "old-3"]
    queue.finish("w", "new", "old-1", "old-2", "old-3")
    queue.beat("w")
    last = queue.observe()

    assert (first.reserved_tokens, first.now.area_s) == (3 * 42, pytest.approx(1.0 + 3 * 2.0, abs=1e-4))
    assert (last.reserved_tokens, last.now.area_s) == (0, pytest.approx(4.0 + 2 * 3.0, abs=1e-4))
    assert last.now.stay_s == pytest.approx(last.now.area_s, abs=1e-4)
    assert not queue.client.exists("miniserve:law", "miniserve:reserved_tokens")


def test_what_an_earlier_replica_cancels_is_told_to_its_worker_with_the_next_beat(queue: ScriptedQueue) -> None:
    queue.accept("a")
    queue.beat("w")
    assert queue.drain("w") == ["a"]
    queue.client.sadd("miniserve:cancel:w", "a")

    queue.beat("w", num_held=1)

    assert queue.client.hexists("miniserve:inbox:w", "a")
    assert not queue.client.exists("miniserve:cancel:w")


def accept_as_before(queue: ScriptedQueue, *request_ids: str) -> None:
    """What 0.7's ENQUEUE writes, as far as the accounts go."""
    for request_id in request_ids:
        at_s = LAW_SINCE_S + queue.now_s
        job = {"data": json.dumps(["miniserve.correct", None, [VERSION_1 | {"request_id": request_id}], {}]),
               "status": "queued", "reserved_tokens": 42, "accepted_at": at_s, "reply_to": "api", "attempts": 0,
               "result_ttl": 60, "failure_ttl": 60}  # fmt: skip
        queue.client.hset(f"rq:job:{request_id}", mapping=job)
        queue.client.rpush("rq:queue:correct", request_id)
        queue.client.hset("miniserve:reservations", request_id, 42)
        queue.client.incrby("miniserve:reserved_tokens", 42)
        queue.client.hincrbyfloat("miniserve:law", "us", -queue.now_s * 1e6)
        queue.client.hincrby("miniserve:counts", "accepted", 1)


def test_what_an_earlier_worker_died_with_comes_back_in_groups(queue: ScriptedQueue) -> None:
    queue.accept("a", "b", "c", "d")
    assert queue.drain("old") == ["a", "b", "c", "d"]
    for request_id in "abcd":
        queue.client.hset(f"rq:job:{request_id}", "attempts", 1)  # 0.7's DRAIN counts each start

    queue.die("old")

    assert queue.drain("new") == ["a", "b"]
    assert [int(queue.client.hget(f"rq:job:{request_id}", "attempts")) for request_id in "abcd"] == [1, 1, 1, 1]
