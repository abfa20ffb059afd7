"""Traces through a real Redis: parts of two processes are found by a third, as long as the answer, whatever happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from redis import Redis

from scheduler.messages import NO_CAPACITY, Completion, FinishReason, Progress
from scheduler.phases import Phase
from scheduler.trace_parts import FoundTrace, RequestPart, SequencePart, Step
from scheduler.traces import request_text
from tests.mailbox_house import RedisHouse, a_request, an_answer, eventually, take, take_one
from tests.recorded_requests import a_record
from worker.mailbox.protocol import ApiMailbox, MailboxLimits, WorkerMailbox

WORKERS_PART = "1,3,11,3,stop,10000,5000;5100:4 3000:5 4000:6"
SEQUENCE = SequencePart(1, 3, 11, 3, FinishReason.STOP, 0.01, 0.005, (Step(0.0051, 4), Step(0.003, 5), Step(0.004, 6)))


def replicas_part(request_id: str, *job_ids: str) -> str:
    times_s = (1.0, 1.001, 1.003, 1.004, 1.006, 1.05, 1.052)
    return request_text(request_id, job_ids, (200, ""), 1_700_000_000.0, times_s)


def traced(house: RedisHouse, request_id: str) -> FoundTrace | None:
    """By a replica that has seen nothing of the request."""
    return house.api().trace(request_id)


def submit(api: ApiMailbox, request_id: str, *job_ids: str, is_async: bool = False) -> None:
    requests = [a_request(job_id) for job_id in job_ids or (request_id,)]
    api.submit_recorded(a_record(request_id, is_async=is_async), requests)
    eventually(lambda: api.find(request_id))


def answer_traced(worker: WorkerMailbox, job_ids: Sequence[str], trace: str = WORKERS_PART) -> None:
    worker.exchange([replace(an_answer(job_id), trace=trace) for job_id in job_ids], NO_CAPACITY)


def keep(api: ApiMailbox, request_id: str, *job_ids: str) -> None:
    """As the replica does that has answered."""
    api.keep_trace(request_id, replicas_part(request_id, *(job_ids or (request_id,))))
    eventually(lambda: (found := api.trace(request_id)) is not None and found.request is not None)


@pytest.mark.parametrize("job_ids", [("rq",), ("rq-1", "rq-2")])
def test_the_parts_of_worker_and_replica_are_found_by_any_replica(house: RedisHouse, job_ids: tuple[str, ...]) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq", *job_ids)
    before = traced(house, "rq")
    assert take(worker) == list(job_ids)
    answer_traced(worker, job_ids)
    half = traced(house, "rq")
    keep(api, "rq", *job_ids)

    found = traced(house, "rq")

    assert before.phase is Phase.QUEUED and half.phase is None
    assert not half.is_complete and half.request is None
    assert found.is_complete and found.phase is None
    assert [(job.job_id, job.part) for job in found.jobs] == [(job_id, SEQUENCE) for job_id in job_ids]
    assert isinstance(found.request, RequestPart) and found.request.job_ids == job_ids


@pytest.mark.parametrize("is_async", [False, True])
def test_a_request_that_waits_or_runs_is_pending(house: RedisHouse, is_async: bool) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq", is_async=is_async)
    if is_async:  # its replica has answered 202
        keep(api, "rq")

    queued = traced(house, "rq")
    take(worker)

    assert queued.phase is Phase.QUEUED
    assert traced(house, "rq").phase is Phase.RUNNING
    answer_traced(worker, ["rq"])
    assert traced(house, "rq").phase is None


def test_the_attempt_that_answered_is_told(house: RedisHouse) -> None:
    """Not the one of a worker that died, nor the late one of a worker that was stopped."""
    api, dead, late = house.api(), house.worker(), house.worker(is_fresh=lambda: False)
    submit(api, "rq")
    assert take(dead) == ["rq"]
    house.kill(dead)
    assert take_one(late).attempt == 2
    last = house.worker()
    assert take_one(last).attempt == 3
    answer_traced(last, ["rq"], WORKERS_PART.replace("1,3,11", "3,3,11"))
    answer_traced(late, ["rq"], WORKERS_PART.replace("1,3,11", "2,3,11"))
    keep(api, "rq")

    found = traced(house, "rq")

    assert found.is_complete
    assert found.jobs[0].part == replace(SEQUENCE, attempt=3)


def test_what_was_dropped_at_its_deadline_says_how_far_it_came(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit_recorded(a_record("rq", is_async=True), [a_request("rq")], within_s=30.0)
    take_one(worker)
    house.end_deadline("rq")
    late = Completion("rq", FinishReason.EXPIRED, trace="1,3,11,1,expired,10000,5000;5100:4")
    worker.exchange([late], NO_CAPACITY)

    found = traced(house, "rq")

    assert found.phase is None
    assert (found.jobs[0].part.finish_reason, found.jobs[0].part.output_tokens) == (FinishReason.EXPIRED, 1)


def test_of_one_that_was_followed_the_trace_is_the_same(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq")
    take(worker)
    worker.exchange((), NO_CAPACITY, progress=[Progress("rq", (7,))])
    answer_traced(worker, ["rq"])
    keep(api, "rq")

    assert traced(house, "rq").jobs[0].part == SEQUENCE


def test_a_cancelled_request_has_the_part_of_its_replica_alone(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq")
    take(worker)
    api.cancel("rq")
    eventually(lambda: worker.exchange((), NO_CAPACITY).cancelled_ids or traced(house, "rq").phase is None)
    keep(api, "rq")

    found = eventually(lambda: (found := traced(house, "rq")).phase is None and found)

    assert found.is_complete
    assert (found.jobs[0].part, found.jobs[0].finish_reason) == (None, FinishReason.CANCELLED)


@pytest.mark.parametrize("request_id", ["unknown", "", "a:b", "x" * 200, "mit blank", "%", "[^r]", "r", "rqx"])
def test_an_id_nobody_has_has_no_trace(house: RedisHouse, request_id: str) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq")
    take(worker)
    answer_traced(worker, ["rq"])
    keep(api, "rq")

    assert traced(house, request_id) is None


def test_a_trace_lives_as_long_as_the_answer(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(MailboxLimits(result_ttl_s=1)), house.worker()
    submit(api, "rq")
    take(worker)
    answer_traced(worker, ["rq"])
    keep(api, "rq")

    with Redis.from_url(redis_url) as client:
        assert 0 < client.pttl("miniserve:trace:rq") <= 1000
        eventually(lambda: not client.exists("miniserve:trace:rq", "rq:job:rq"))
    assert traced(house, "rq") is None


def test_the_part_of_a_worker_alone_is_told_and_waited_for_by_nobody(house: RedisHouse) -> None:
    """Its replica died, or keeps no traces."""
    api, worker = house.api(), house.worker()
    submit(api, "rq")
    take(worker)
    answer_traced(worker, ["rq"])

    found = traced(house, "rq")

    assert found.jobs[0].part == SEQUENCE
    assert found.phase is None and not found.is_complete


def test_a_part_of_another_version_counts_as_missing(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq")
    take(worker)
    answer_traced(worker, ["rq"], "what nobody here can read")
    keep(api, "rq")

    found = traced(house, "rq")

    assert found.request is not None and found.jobs[0].part is None


def test_a_dead_letter_that_runs_again_tells_of_its_last_run(house: RedisHouse, redis_url: str) -> None:
    api, worker = house.api(), house.worker()
    submit(api, "rq", is_async=True)
    take(worker)
    failed = WORKERS_PART.replace("stop", "error")
    worker.exchange([Completion("rq", FinishReason.ERROR, error="it broke", trace=failed)], NO_CAPACITY)
    first = traced(house, "rq").jobs[0].part
    with Redis.from_url(redis_url) as client:  # as rq-dashboard does it
        client.zrem("rq:failed:correct", "rq")
        client.hset("rq:job:rq", "status", "queued")
        client.rpush("rq:queue:correct", "rq")

    take_one(worker)
    answer_traced(worker, ["rq"])

    assert first.finish_reason is FinishReason.ERROR
    assert traced(house, "rq").jobs[0].part == SEQUENCE
