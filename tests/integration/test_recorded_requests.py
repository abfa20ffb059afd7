"""Requests that are kept to be found later, and refusals that a process knows without asking."""

from __future__ import annotations

import pytest
from redis import Redis

from scheduler.errors import Cancelled, DeadlineExceeded, QueueFull, RemovedByOperator
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.mailbox_house import RedisHouse, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import ASKED, a_record, counts
from worker.queue import admission
from worker.queue.api_mailbox import completion_of
from worker.queue.protocol import MailboxLimits
from worker.queue.redis_observer import Phase


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
    assert (found.content, [job.state for job in found.jobs]) == (ASKED, [an_answer("r-1"), an_answer("r-2")])


@pytest.mark.parametrize("request_id", ["unknown", "", "a:b", "x" * 200, "mit blank", "\u00e4"])
def test_an_id_that_nobody_has_is_not_found(house: RedisHouse, request_id: str) -> None:
    assert house.api().find(request_id) is None


def test_a_job_deleted_by_hand_is_found_as_removed_and_a_plain_request_not_at_all(
    house: RedisHouse, redis_url: str
) -> None:
    api = house.api()
    api.submit_recorded(a_record("r", "key"), [a_request("r")])
    api.submit_recorded(a_record("plain"), [a_request("plain-1"), a_request("plain-2")])
    with Redis.from_url(redis_url) as client:
        client.delete("rq:job:r")

    assert isinstance(api.find("r").jobs[0].state, RemovedByOperator)
    assert api.find("plain") is api.find("plain-1") is None


def test_a_request_that_is_called_off_or_too_late_while_it_runs_is_found_as_that(
    house: RedisHouse, redis_url: str
) -> None:
    api, worker = house.api(), house.worker()
    late = api.submit_recorded(a_record("late", "one"), [a_request("late")])
    api.submit_recorded(a_record("off", "two"), [a_request("off")])
    assert len(take(worker)) == 2

    api.cancel("off")
    with pytest.raises(DeadlineExceeded):
        api.wait_all(late, 0.01)
    eventually(lambda: worker.exchange((), NO_CAPACITY) and len(counts(redis_url)) == 4)

    assert counts(redis_url) == {"accepted": 2, "cancelled": 1, "expired": 1, "expired_running": 1}
    for name, kind in (("late", DeadlineExceeded), ("off", Cancelled)):
        with pytest.raises(kind):
            completion_of(api.find(name).jobs[0].state)


def test_a_dead_letter_keeps_what_it_takes_to_answer_for_it(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("keyed", "key"), [a_request("keyed")])
    take(worker)
    worker.exchange([Completion("keyed", FinishReason.ERROR, error="broke")], NO_CAPACITY)

    with Redis.from_url(redis_url) as client:
        assert client.ttl("miniserve:request:keyed") == client.ttl("rq:job:keyed") > 6 * 86_400
    assert api.find("keyed").content == ASKED


def test_a_worker_ends_what_its_own_clock_finds_too_late(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    accepted = api.submit_recorded(a_record("r", "key"), [a_request("r")], within_s=600.0)
    delivery = take_one(worker)
    house.end_deadline("r")

    worker.exchange([Completion("r", FinishReason.EXPIRED)], NO_CAPACITY)

    assert 0 < delivery.left_s < 600.0
    with pytest.raises(DeadlineExceeded):
        api.wait_all(accepted)


def test_an_answer_that_is_forgotten_is_unknown_and_its_text_goes_with_it(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(MailboxLimits(kept_ttl_s=1)), house.worker()
    accepted = api.submit_recorded(a_record("two", "key"), [a_request("two-0"), a_request("two-1")])
    answer(worker, *take(worker))
    api.wait_all(accepted)

    assert api.find("two")
    with Redis.from_url(redis_url) as client:
        eventually(lambda: not client.keys("miniserve:request:*") and not client.keys("rq:job:*"))
    assert api.find("two") is None


def test_after_a_refusal_the_queue_is_known_to_be_full_and_nothing_of_it_is_kept(
    house: RedisHouse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "_LONGEST_ASK_AFTER_S", 60.0)  # a busy machine may take longer to look
    api, client = house.api(MailboxLimits(max_requests=1)), Redis.from_url(redis_url)
    client.hset("miniserve:counts", "service_rate", 0.001)
    before = api.known_refusal()
    api.submit_recorded(a_record("r", "one"), [a_request("r")])
    with pytest.raises(QueueFull):
        api.submit_recorded(a_record("s", "two"), [a_request("s")])

    known = api.known_refusal()

    assert before is None
    assert isinstance(known, QueueFull) and "1 of 1 requests" in str(known)
    assert client.keys("miniserve:key:*") == [b"miniserve:key:one"] and api.find("s") is None


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
