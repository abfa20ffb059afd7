"""What a cancelled request answers while its worker stands still, and what waiters hear of jobs that DRAIN drops."""

from __future__ import annotations

import pytest
from redis import Redis

from scheduler.errors import Cancelled, DeadlineExceeded, RequestFailed
from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from scheduler.phases import Phase
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, answer, eventually, take
from tests.recorded_requests import a_record
from worker.queue.api_loop import Sender
from worker.queue.protocol import CancelResult

LATER_S = 600.0


@pytest.fixture
def client(redis_url: str) -> Redis:
    return Redis.from_url(redis_url, decode_responses=True)


def submit_async(api: SubmittingMailbox, request_id: str) -> None:
    api.submit_recorded(a_record(request_id, is_async=True), [a_request(request_id)])


def reason_of(api: SubmittingMailbox, request_id: str) -> Phase | FinishReason:
    state = api.find(request_id).jobs[0].state
    return state.finish_reason if isinstance(state, Completion) else state


def nothing_is_reserved(api: SubmittingMailbox) -> bool:
    status = api.status()
    return (status.reserved_requests, status.reserved_tokens) == (0, 0)


def test_what_is_cancelled_while_its_worker_stands_still_is_cancelled_once_the_lease_is_over(
    house: RedisHouse, client: Redis
) -> None:
    api, stopped = house.api(), house.worker(is_fresh=lambda: False)
    submit_async(api, "a")
    assert take(stopped) == ["a"]

    assert api.cancel("a") is CancelResult.CANCELLING
    before = reason_of(api, "a")
    client.zadd("miniserve:leases", {stopped.name: 1})

    assert (before, reason_of(api, "a")) == (Phase.RUNNING, FinishReason.CANCELLED)


def test_what_is_cancelled_after_its_worker_stopped_never_comes_back(house: RedisHouse, client: Redis) -> None:
    api, stopped = house.api(), house.worker(is_fresh=lambda: False)
    submit_async(api, "a")
    assert take(stopped) == ["a"]
    client.zadd("miniserve:leases", {stopped.name: 1})

    assert api.cancel("a") is CancelResult.CANCELLED
    answer(stopped, "a")  # it goes on, too late

    assert reason_of(api, "a") is FinishReason.CANCELLED
    assert nothing_is_reserved(api)


def test_what_a_worker_claimed_and_never_started_is_cancelled_at_once(house: RedisHouse, client: Redis) -> None:
    api, stopped = house.api(), house.worker(is_fresh=lambda: False)
    ticket = api.submit(a_request("a"))
    client.lmove("rq:queue:correct", f"miniserve:claim:{stopped.name}", "LEFT", "RIGHT")

    assert api.cancel("a") is CancelResult.CANCELLED

    with pytest.raises(Cancelled):
        api.wait(ticket)
    assert nothing_is_reserved(api)
    assert take(stopped) == []


def test_what_was_cancelled_when_its_worker_died_does_not_wait_for_the_next_one(house: RedisHouse) -> None:
    api, one = house.api(), house.worker()
    tickets = [api.submit(a_request(name)) for name in ("a", "b")]
    assert take(one) == ["a", "b"]
    api.cancel("a")

    house.kill(one)

    assert api.status().reserved_requests == 1
    with pytest.raises(Cancelled):
        api.wait(tickets[0])
    assert take(house.worker()) == ["b"]


@pytest.mark.parametrize("kind", [DeadlineExceeded, Cancelled, RequestFailed])
def test_a_client_hears_at_once_of_a_job_that_is_dropped_when_it_is_its_turn(
    house: RedisHouse, client: Redis, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    monkeypatch.setattr("worker.queue.api_listener.POLL_S", LATER_S)  # what is not published is not heard
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"), within_s=LATER_S)
    spoilt = {
        DeadlineExceeded: {"deadline": 1},
        Cancelled: {"status": "canceled"},  # by a tool of RQ's
        RequestFailed: {"data": ""},
    }
    client.hset("rq:job:a", mapping=spoilt[kind])

    assert worker.exchange((), AMPLE).deliveries == ()
    worker.exchange((), NO_CAPACITY)

    with pytest.raises(kind):
        api.wait(ticket)
    eventually(lambda: nothing_is_reserved(api))


def test_a_request_of_many_sentences_is_found_and_cancelled_in_one_round_trip_each(
    house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, names, asked = house.api(), [f"r-{number}" for number in range(1, 65)], []
    api.submit_recorded(a_record("r", is_async=True), [a_request(name) for name in names])
    ask = Sender.ask
    monkeypatch.setattr(Sender, "ask", lambda *words: asked.append(words) or ask(*words))

    found = api.find("r")
    ended = api.cancel_all(names)

    assert [job.state for job in found.jobs] == 64 * [Phase.QUEUED]
    assert ended == 64 * [CancelResult.CANCELLED]
    assert len(asked) == 2
