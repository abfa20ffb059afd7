"""The same idempotency key again: attached to the first request, or told its answer."""

from __future__ import annotations

from dataclasses import replace

from redis import Redis

from scheduler.messages import NO_CAPACITY, Inbox
from tests.mailbox_house import RedisHouse, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import a_record, counts
from worker.queue.connection import Address
from worker.queue.worker_end import WorkerMailbox


def test_who_comes_while_the_worker_is_being_told_to_drop_it_is_answered(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), WorkerMailbox(Address(redis_url), max_block_s=0.0)
    worker.open(lambda: True)
    first = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    assert take_one(worker).request.request_id == "r"
    api.abandon(first)
    with Redis.from_url(redis_url) as client:
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
