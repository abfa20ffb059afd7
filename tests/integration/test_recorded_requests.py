"""Requests that are kept, asked for again by their keys, and refusals that a process knows without asking."""

from __future__ import annotations

from dataclasses import replace

import pytest
from redis import Redis

from scheduler.errors import QueueFull
from scheduler.messages import NO_CAPACITY, Inbox
from tests.mailbox_house import RedisHouse, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import a_record, counts
from worker.queue import admission
from worker.queue.connection import Address
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


def test_after_a_refusal_the_queue_is_known_to_be_full_and_nothing_of_it_is_kept(
    house: RedisHouse, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "_LONGEST_ASK_AFTER_S", 60.0)  # a busy machine may take longer to look
    api = house.api(MailboxLimits(max_requests=1))
    client.hset("miniserve:counts", "service_rate", 0.001)
    before = api.known_refusal()
    api.submit_recorded(a_record("r", "one"), [a_request("r")])
    with pytest.raises(QueueFull):
        api.submit_recorded(a_record("s", "two"), [a_request("s")])

    known = api.known_refusal()

    assert before is None
    assert isinstance(known, QueueFull) and "1 of 1 requests" in str(known)
    assert client.keys("miniserve:key:*") == [b"miniserve:key:one"] and api.find("s") is None


def test_while_twice_the_queue_waits_to_be_let_in_nobody_else_asks(house: RedisHouse, client: Redis) -> None:
    api = house.api(MailboxLimits(max_requests=4))
    api.submit_recorded(a_record("first", "key"), [a_request("first")])  # with a key: accepted on return

    client.client_pause(30_000, all=False)
    num_asking = 0
    while (known := api.known_refusal()) is None and num_asking < 300:
        api.submit_recorded(a_record(f"{num_asking}"), [a_request(f"{num_asking}")])
        num_asking += 1
    client.client_unpause()
    eventually(lambda: api.observe().counts.get("refused_full") == num_asking - 3)

    assert 8 <= num_asking < 300, "more than the eight are in the packet that was sent before"
    assert isinstance(known, QueueFull) and known.retry_after_s >= 1


def test_what_redis_will_refuse_to_one_client_takes_no_place_from_another(house: RedisHouse, client: Redis) -> None:
    api = house.api(MailboxLimits(max_requests=16, max_tokens=10_000))
    api.submit_recorded(a_record("2-0", "key 0", client="2"), [a_request("2-0")])  # with a key: accepted on return

    client.client_pause(30_000, all=False)
    burst = [api.submit_recorded(a_record(f"1-{at}", client="1"), [a_request(f"1-{at}")]) for at in range(16)]
    refusal = api.known_refusal("2")
    client.client_unpause()
    eventually(lambda: api.observe().counts.get("refused_share"))
    other = api.submit_recorded(a_record("2-1", "key 1", client="2"), [a_request("2-1")])

    assert len(burst) == 16 and refusal is None
    assert other.accepted_s > 0


def test_who_comes_while_the_worker_is_being_told_to_drop_it_is_answered(
    house: RedisHouse, client: Redis, redis_url: str
) -> None:
    api, worker = house.api(), WorkerMailbox(Address(redis_url), max_block_s=0.0)
    worker.open(lambda: True)
    first = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    assert take_one(worker).request.request_id == "r"
    api.abandon(first)
    eventually(lambda: client.hget("rq:job:r", "reply_to") == b"")
    eventually(lambda: worker.exchange((), NO_CAPACITY) == Inbox() and worker._claims.is_waiting)
    eventually(worker._claims.has_reply)  # it says so, and nobody has read it

    again = api.submit_recorded(a_record("s", "key"), [a_request("s")])
    told = worker.exchange((), NO_CAPACITY)
    taken_again = eventually(lambda: take(worker))
    answer(worker, "r")
    answered = api.wait_all(again)
    worker.close()

    assert (told.cancelled_ids, taken_again) == (("r",), ["r"])
    assert answered == [an_answer("r")]
    assert counts(redis_url) == {"accepted": 1, "done": 1}


def test_a_key_of_another_version_is_a_new_one(house: RedisHouse) -> None:
    api = house.api()
    api.submit_recorded(a_record("r", "key"), [a_request("r")])

    other = api.submit_recorded(replace(a_record("s", "key"), tokenizer_fingerprint="another"), [a_request("s")])

    assert other.request_id == "s"
