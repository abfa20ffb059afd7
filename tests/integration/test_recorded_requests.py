"""Requests that are kept to be found later: by id, by idempotency key, without anybody who waits."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from scheduler.errors import Cancelled, DeadlineExceeded, QueueFull, RemovedByOperator
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from scheduler.phases import Phase
from tests.mailbox_house import RedisHouse, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import ASKED, a_record, counts, is_conserved
from worker.queue import admission
from worker.queue.api_mailbox import completion_of
from worker.queue.protocol import MailboxLimits

_NO_KEY = -2  # in the place of a key's TTL


def test_a_request_is_found_in_every_phase_from_every_replica(house: RedisHouse) -> None:
    one, other, worker = house.api(), house.api(), house.worker()
    accepted = one.submit_recorded(a_record("r", "key"), [a_request("r-1"), a_request("r-2")])

    phases = [[job.state for job in other.find("r").jobs]]
    take(worker)
    phases.append([job.state for job in other.find("r").jobs])
    answer(worker, "r-1", "r-2")
    one.wait_all(accepted)
    found = other.find("r")

    assert phases == [[Phase.QUEUED] * 2, [Phase.RUNNING] * 2]
    assert (found.content, [job.state for job in found.jobs]) == (
        ASKED, [an_answer("r-1"), an_answer("r-2")]
    )  # fmt: skip


@pytest.mark.parametrize("request_id", ["unknown", "", "a:b", "x" * 200, "mit blank", "\u00e4"])
def test_an_id_that_nobody_has_is_not_found(house: RedisHouse, request_id: str) -> None:
    assert house.api().find(request_id) is None


def test_an_asynchronous_request_has_no_waiter_and_lives_on(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    accepted = api.submit_recorded(a_record("r", "key", is_async=True), [a_request("r")])
    attached = api.submit_recorded(a_record("s", "key"), [a_request("s")])
    api.abandon(attached)

    taken = take(worker)
    inbox = answer(worker, "r")

    assert accepted.outcomes == {}
    assert (taken, inbox.cancelled_ids) == (["r"], ())
    assert api.find("r").jobs[0].state == an_answer("r")


def test_answers_of_requests_with_a_key_and_of_asynchronous_ones_live_ten_minutes(
    house: RedisHouse, redis_url: str
) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("plain"), [a_request("plain")])
    api.submit_recorded(a_record("keyed", "key"), [a_request("keyed")])
    api.submit_recorded(a_record("async", is_async=True), [a_request("async")])
    eventually(lambda: api.status().queue_depth == 3)
    take(worker)
    answer(worker, "plain", "keyed", "async")

    with Redis.from_url(redis_url) as client:
        ends = dict(client.zrange("rq:finished:correct", 0, -1, withscores=True))
        lives = {name.decode(): end - time.time() for name, end in ends.items()}
        of_records = {name: client.ttl(f"miniserve:request:{name}") for name in lives}

    assert lives == {"plain": pytest.approx(60, abs=2), "keyed": pytest.approx(600, abs=2),
                     "async": pytest.approx(600, abs=2)}  # fmt: skip
    assert of_records == {name: pytest.approx(life, abs=2) for name, life in lives.items()} | {"plain": _NO_KEY}


def test_nothing_of_a_refused_request_is_kept(house: RedisHouse, redis_url: str) -> None:
    api = house.api(MailboxLimits(max_requests=1))

    api.submit_recorded(a_record("r", "one"), [a_request("r")])
    with pytest.raises(QueueFull):
        api.submit_recorded(a_record("s", "two"), [a_request("s")])

    assert api.find("s") is None
    with Redis.from_url(redis_url) as client:
        assert client.keys("miniserve:key:*") == [b"miniserve:key:one"]
    assert counts(redis_url) == {"accepted": 1, "refused_full": 1}


def test_after_a_refusal_the_queue_is_known_to_be_full_without_asking(
    house: RedisHouse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "_ASK_AFTER_S", 60.0)  # a busy machine may take longer to look
    api = house.api(MailboxLimits(max_requests=1))
    with Redis.from_url(redis_url) as client:
        client.hset("miniserve:counts", "service_rate", 0.001)
    before = api.known_refusal()
    api.submit_recorded(a_record("r"), [a_request("r")])
    with pytest.raises(QueueFull):
        api.wait_all(api.submit_recorded(a_record("s"), [a_request("s")]))

    known = api.known_refusal()

    assert before is None
    assert isinstance(known, QueueFull) and "1 of 1 requests" in str(known)


def test_while_twice_the_queue_waits_to_be_let_in_nobody_else_asks(house: RedisHouse, redis_url: str) -> None:
    api = house.api(MailboxLimits(max_requests=4))
    api.submit_recorded(a_record("first", "key"), [a_request("first")])  # with a key: accepted on return

    with Redis.from_url(redis_url) as client:
        client.client_pause(30_000, all=False)
        num_asking = 0
        while (known := api.known_refusal()) is None and num_asking < 300:
            api.submit_recorded(a_record(f"{num_asking}"), [a_request(f"{num_asking}")])
            num_asking += 1
        client.client_unpause()
    eventually(lambda: api.observe().counts.get("refused_full") == num_asking - 3)

    assert 8 <= num_asking < 300, "more than the eight are in the packet that was sent before"
    assert isinstance(known, QueueFull) and known.retry_after_s >= 1


def test_what_redis_will_refuse_to_one_client_takes_no_place_from_another(house: RedisHouse, redis_url: str) -> None:
    api = house.api(MailboxLimits(max_requests=16, max_tokens=10_000))
    api.submit_recorded(a_record("2-0", "key 0", client="2"), [a_request("2-0")])  # with a key: accepted on return

    with Redis.from_url(redis_url) as client:
        client.client_pause(30_000, all=False)
        burst = [api.submit_recorded(a_record(f"1-{at}", client="1"), [a_request(f"1-{at}")]) for at in range(16)]
        refusal = api.known_refusal("2")
        client.client_unpause()
    eventually(lambda: api.observe().counts.get("refused_share"))
    other = api.submit_recorded(a_record("2-1", "key 1", client="2"), [a_request("2-1")])

    assert len(burst) == 16 and refusal is None
    assert other.accepted_s > 0


def test_a_job_deleted_by_hand_is_found_as_removed(house: RedisHouse, redis_url: str) -> None:
    api = house.api()
    api.submit_recorded(a_record("r", "key"), [a_request("r")])
    with Redis.from_url(redis_url) as client:
        client.delete("rq:job:r")

    assert isinstance(api.find("r").jobs[0].state, RemovedByOperator)


def test_of_a_plain_request_nothing_can_be_asked_for_again(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    accepted = api.submit_recorded(a_record("r"), [a_request("r-1"), a_request("r-2")])
    answer(worker, *eventually(lambda: take(worker)))

    assert len(api.wait_all(accepted)) == 2
    assert api.find("r") is api.find("r-1") is None


def test_every_end_is_counted_once_and_by_its_name(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    for name in ("done", "failed", "left", "late", "cancelled", "gone"):
        accepted = api.submit_recorded(a_record(name), [a_request(name)])
        if name == "left":
            api.abandon(accepted)
        if name == "late":
            with pytest.raises(DeadlineExceeded):
                api.wait_all(accepted, 0.01)
    api.submit_recorded(a_record("dropped"), [a_request("dropped")], within_s=600.0)
    eventually(lambda: api.status().queue_depth == 5)
    house.end_deadline("dropped")
    with Redis.from_url(redis_url) as client:
        client.delete("rq:job:gone")

    eventually(lambda: set(take(worker)) == {"done", "failed", "cancelled"})
    api.cancel("cancelled")
    eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids)
    worker.exchange([an_answer("done"), Completion("failed", FinishReason.ERROR, error="broke")], NO_CAPACITY)

    assert counts(redis_url) == {
        "accepted": 7, "done": 1, "failed": 1, "cancelled": 2, "expired": 2, "expired_waiting": 2, "removed": 1
    }  # fmt: skip
    assert is_conserved(redis_url)


def test_a_request_that_is_too_late_while_it_runs_is_counted_there(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    accepted = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    take_one(worker)

    with pytest.raises(DeadlineExceeded):
        api.wait_all(accepted, 0.01)
    eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids)
    worker.exchange((), NO_CAPACITY)

    assert counts(redis_url) == {"accepted": 1, "expired": 1, "expired_running": 1}
    with pytest.raises(DeadlineExceeded):
        completion_of(api.find("r").jobs[0].state)


def test_a_request_that_was_called_off_is_found_as_cancelled(house: RedisHouse) -> None:
    api = house.api()
    accepted = api.submit_recorded(a_record("r", "key"), [a_request("r")])

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(api.wait_all, accepted)
        api.cancel("r")
        with pytest.raises(Cancelled):
            waiting.result()

    assert api.find("r").jobs[0].state == Completion("r", FinishReason.CANCELLED)


def test_a_running_request_is_dropped_by_its_worker_at_its_deadline(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    accepted = api.submit_recorded(a_record("r", "key"), [a_request("r")], within_s=600.0)
    delivery = take_one(worker)
    house.end_deadline("r")

    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(api.wait_all, accepted)
        worker.exchange([Completion("r", FinishReason.EXPIRED)], NO_CAPACITY)
        with pytest.raises(DeadlineExceeded):
            waiting.result()

    assert 0 < delivery.left_s < 600.0
    assert counts(redis_url) == {"accepted": 1, "expired": 1, "expired_running": 1}
    with pytest.raises(DeadlineExceeded):
        completion_of(api.find("r").jobs[0].state)


def test_an_answer_that_is_forgotten_is_unknown_and_its_text_goes_with_it(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(MailboxLimits(kept_ttl_s=1)), house.worker()
    for name, num_jobs in (("one", 1), ("two", 2)):
        job_ids = [name] if num_jobs == 1 else [f"{name}-{each}" for each in range(num_jobs)]
        accepted = api.submit_recorded(a_record(name, f"key {name}"), [a_request(job_id) for job_id in job_ids])
        answer(worker, *take(worker))
        api.wait_all(accepted)

    assert api.find("one") and api.find("two")
    with Redis.from_url(redis_url) as client:
        eventually(lambda: not client.keys("miniserve:request:*") and not client.keys("rq:job:*"))
    assert api.find("one") is api.find("two") is None


def test_a_dead_letter_keeps_what_it_takes_to_answer_for_it(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("keyed", "key"), [a_request("keyed")])
    take(worker)
    worker.exchange([Completion("keyed", FinishReason.ERROR, error="broke")], NO_CAPACITY)

    with Redis.from_url(redis_url) as client:
        assert client.ttl("miniserve:request:keyed") == client.ttl("rq:job:keyed") > 6 * 86_400
    assert api.find("keyed").content == ASKED
