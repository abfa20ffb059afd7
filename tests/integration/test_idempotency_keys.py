"""The same idempotency key again: attached to the first request, or told its answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis import Redis

from scheduler.errors import IdempotencyConflict
from scheduler.messages import NO_CAPACITY, Completion, FinishReason, Inbox
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import a_record, counts
from worker.queue.redis_py import connect
from worker.queue.worker_end import WorkerMailbox


def test_the_same_key_attaches_to_the_running_request_from_another_replica(house: RedisHouse, redis_url: str) -> None:
    one, other, worker = house.api(), house.api(), house.worker()
    first = one.submit_recorded(a_record("r", "key"), [a_request("r")])
    second = other.submit_recorded(a_record("s", "key"), [a_request("s")])

    assert take(worker) == ["r"]
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(api.wait_all, accepted) for api, accepted in ((one, first), (other, second))]
        answer(worker, "r")
        answers = [future.result() for future in waiting]

    assert (first.request_id, second.request_id) == ("r", "r")
    assert answers == [[an_answer("r")]] * 2
    assert counts(redis_url) == {"accepted": 1, "done": 1}


def test_the_same_key_gets_the_stored_answer_later_and_nothing_runs_again(house: RedisHouse, redis_url: str) -> None:
    one, other, worker = house.api(), house.api(), house.worker()
    first = one.submit_recorded(a_record("r", "key"), [a_request("r-1"), a_request("r-2")])
    take(worker)
    answer(worker, "r-1", "r-2")
    one.wait_all(first)

    again = other.submit_recorded(a_record("s", "key"), [a_request("s-1"), a_request("s-2")])

    assert other.wait_all(again) == [an_answer("r-1"), an_answer("r-2")]
    assert take(worker) == []
    assert counts(redis_url) == {"accepted": 2, "done": 2}


def test_the_same_key_with_another_body_is_a_conflict_even_if_its_text_is_longer(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("r", "key"), [a_request("r")])

    with pytest.raises(IdempotencyConflict):
        api.submit_recorded(a_record("s", "key", digest="other"), [a_request("s-1"), a_request("s-2")])

    assert take(worker) == ["r"]
    assert api.find("s") is None


def test_after_everybody_left_the_same_key_begins_anew(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    first = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    api.abandon(first)
    eventually(lambda: api.status().queue_depth == 0)

    again = api.submit_recorded(a_record("s", "key"), [a_request("s")])

    assert take(worker) == ["r"]
    answer(worker, "r")
    assert api.wait_all(again) == [an_answer("r")]


def test_one_who_leaves_does_not_end_the_request_of_one_who_stays(house: RedisHouse) -> None:
    one, other, worker = house.api(), house.api(), house.worker()
    first = one.submit_recorded(a_record("r", "key"), [a_request("r")])
    second = other.submit_recorded(a_record("s", "key"), [a_request("s")])
    one.abandon(first)

    take(worker)
    answer(worker, "r")

    assert other.wait_all(second) == [an_answer("r")]


def test_who_comes_when_the_last_one_has_just_left_is_answered(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    submit_and_leave(api, worker, redis_url)

    again = api.submit_recorded(a_record("s", "key"), [a_request("s")])
    answer(worker, "r")

    assert api.wait_all(again) == [an_answer("r")]
    assert counts(redis_url) == {"accepted": 1, "done": 1}


def test_who_comes_while_the_worker_is_being_told_to_drop_it_is_answered(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), WorkerMailbox(connect(redis_url), max_block_s=0.0)
    worker.open(lambda: True)
    submit_and_leave(api, worker, redis_url)
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


def test_who_comes_after_the_worker_has_dropped_it_begins_anew(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    submit_and_leave(api, worker, redis_url)
    assert eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids) == ("r",)
    eventually(lambda: counts(redis_url).get("cancelled") == 1)

    again = api.submit_recorded(a_record("s", "key"), [a_request("s")])
    assert eventually(lambda: take(worker)) == ["r"]
    answer(worker, "r")

    assert api.wait_all(again) == [an_answer("r")]
    assert counts(redis_url) == {"accepted": 2, "cancelled": 1, "done": 1}


def submit_and_leave(api: SubmittingMailbox, worker: WorkerMailbox, redis_url: str) -> None:
    """The request `r` with the key `key` runs, and nobody waits for it."""
    first = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    assert take_one(worker).request.request_id == "r"
    api.abandon(first)
    eventually(lambda: reply_to(redis_url, "r") == b"")


def reply_to(redis_url: str, job_id: str) -> bytes:
    with Redis.from_url(redis_url) as client:
        return client.hget(f"rq:job:{job_id}", "reply_to")


def test_who_waits_for_longer_than_the_first_is_not_dropped_with_it(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("r", "key"), [a_request("r")], within_s=30.0)
    take_one(worker)
    second = api.submit_recorded(a_record("s", "key"), [a_request("s")], within_s=300.0)

    worker.exchange([Completion("r", FinishReason.EXPIRED)], NO_CAPACITY)  # it goes by the time it was given
    again = take_one(worker)
    answer(worker, "r")

    assert (again.request.request_id, again.attempt) == ("r", 1)
    assert again.left_s > 30.0
    assert api.wait_all(second) == [an_answer("r")]


def test_an_attached_request_with_less_patience_leaves_the_record_its_life(house: RedisHouse, redis_url: str) -> None:
    api = house.api()
    api.submit_recorded(a_record("r", "key", is_async=True), [a_request("r")], within_s=600)
    api.submit_recorded(a_record("s", "key"), [a_request("s")], within_s=60.0)

    with Redis.from_url(redis_url) as client:
        assert client.ttl("miniserve:request:r") > 1200
        assert client.ttl("miniserve:key:key") > 1200


def test_a_key_of_another_version_is_a_new_one(house: RedisHouse) -> None:
    api = house.api()
    api.submit_recorded(a_record("r", "key"), [a_request("r")])

    other = api.submit_recorded(replace(a_record("s", "key"), tokenizer_fingerprint="another"), [a_request("s")])

    assert other.request_id == "s"
