"""Traces through a real Redis: parts of two processes are found by a third, for a while, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from ops.embedded_redis import EmbeddedRedis
from scheduler.messages import FinishReason
from scheduler.traces import Marks, RequestPart, SequencePart, Step, request_text
from tests.mailbox_house import RedisHouse, a_request, answer, eventually, take
from tests.recorded_requests import a_record
from worker.mailbox import traces as kept
from worker.mailbox.found_traces import FoundTrace
from worker.mailbox.line import Line, connect, script
from worker.mailbox.protocol import MailboxLimits, WorkerReport
from worker.mailbox.reporter import TRACES_DROPPED
from worker.mailbox.traces import REQUEST_SUFFIX, Traces
from worker.mailbox.watch import StatusWatch
from worker.mailbox.worker_end import RedisWorkerMailbox

WORKERS_PART = "1,3,11,3,stop,10000,5000;5100:4 3000:5 4000:6;2000"
SEQUENCE = SequencePart(
    1, 3, 11, 3, FinishReason.STOP, 0.01, 0.005, 0.002, (Step(0.0051, 4), Step(0.003, 5), Step(0.004, 6))
)  # fmt: skip


def replicas_part(request_id: str, *job_ids: str) -> str:
    marks = Marks(1.0, 1.001, 1.003, 1.004, 1.006, 1.05, 1.052, job_ids)
    return request_text(request_id, marks, 200, "", 1_700_000_000.0)


def traced(house: RedisHouse, request_id: str) -> FoundTrace | None:
    return house.api().trace(request_id)


@pytest.fixture
def watch(redis_url: str) -> Iterator[StatusWatch]:
    """An API replica's question, with its traces in `watch.traces`."""
    traces = Traces(ttl_s=60)
    watch = StatusWatch(connect(redis_url), dict, traces)
    watch.traces = traces
    yield watch


def finish(house: RedisHouse, request_id: str, *job_ids: str) -> None:
    house.api().submit_recorded(a_record(request_id), [a_request(job_id) for job_id in job_ids])
    worker = house.worker()
    take(worker)
    answer(worker, *job_ids)


def test_parts_that_beats_bring_are_found_by_any_replica(house: RedisHouse, redis_url: str, watch: StatusWatch) -> None:
    finish(house, "rq", "rq-1", "rq-2")
    traces = Traces(ttl_s=60)
    worker = RedisWorkerMailbox(connect(redis_url), traces=traces)
    before = traced(house, "rq")
    traces.add("rq-1", WORKERS_PART)
    traces.add("rq-2", WORKERS_PART.replace("stop", "length"))
    worker.open(lambda: True)
    half = traced(house, "rq")
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq-1", "rq-2"))
    watch.status()
    worker.close()

    found = traced(house, "rq")

    assert before.is_pending and half.is_pending
    assert half.jobs[0].part == SEQUENCE and half.request is None
    assert found.is_complete and not found.is_pending
    assert [job.part.finish_reason for job in found.jobs] == [FinishReason.STOP, FinishReason.LENGTH]
    assert isinstance(found.request, RequestPart) and found.request.job_ids == ("rq-1", "rq-2")


def test_the_attempt_that_answered_is_told_and_not_the_one_that_was_dropped(
    house: RedisHouse, watch: StatusWatch
) -> None:
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.traces.add("rq", "1,0,11,2,cancelled,9,9;5:1 5:1;7")  # by a worker that had lost its lease
    watch.traces.add("rq", WORKERS_PART.replace("1,3,11", "2,3,11"))
    watch.traces.add("rq", "1,0,11,2,cancelled,8,8;5:1 5:1;7")  # by another that stood still for longer
    watch.status()

    found = traced(house, "rq")

    assert found.is_complete
    assert (found.jobs[0].part.attempt, found.jobs[0].part.finish_reason) == (2, FinishReason.STOP)


def test_a_request_that_waits_or_runs_is_pending(house: RedisHouse, watch: StatusWatch) -> None:
    house.api().submit_recorded(a_record("rq", is_async=True), [a_request("rq")])
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.status()

    queued = traced(house, "rq")
    take(house.worker())

    assert queued.is_pending
    assert traced(house, "rq").is_pending


def test_parts_that_never_come_are_not_waited_for(house: RedisHouse, redis_url: str) -> None:
    finish(house, "rq", "rq")
    soon = traced(house, "rq")
    with Redis.from_url(redis_url) as client:
        client.hset("rq:job:rq", "ended_at", "2023-01-01T00:00:00.000000Z")

    later = traced(house, "rq")

    assert soon.is_pending
    assert not later.is_pending and not later.is_complete


@pytest.mark.parametrize("request_id", ["unknown", "", "a:b", "x" * 200, "mit blank", "%", "[^r]"])
def test_an_id_nobody_has_has_no_trace(house: RedisHouse, watch: StatusWatch, request_id: str) -> None:
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.status()

    assert traced(house, request_id) is None


def test_the_trace_of_a_longer_id_is_another_ones(house: RedisHouse, redis_url: str, watch: StatusWatch) -> None:
    for request_id in ("abc", "ab", "abcd"):
        watch.traces.add(request_id, WORKERS_PART)
        watch.traces.add(request_id + REQUEST_SUFFIX, replicas_part(request_id, request_id))
    watch.status()

    _, lines, *_ = Line(connect(redis_url)).ask(script("trace", "ab", 60))[0]
    assert sorted(line.split()[0] for line in lines) == [b"ab", b"ab:api"]
    assert traced(house, "a") is None
    assert [job.job_id for job in traced(house, "ab").jobs] == ["ab"]
    assert traced(house, "abcd").is_complete


def test_a_trace_outlives_its_job_and_is_forgotten_in_its_time(
    house: RedisHouse, redis_url: str, watch: StatusWatch
) -> None:
    watch.traces.add("rq", WORKERS_PART)
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.status()

    with Redis.from_url(redis_url) as client:
        ttls = [client.ttl(key) for key in client.scan_iter("miniserve:traces:*")]

    assert traced(house, "rq").is_complete
    assert ttls and all(0 < ttl <= 60 for ttl in ttls)


def test_with_traces_off_nothing_is_asked_or_kept(house: RedisHouse, watch: StatusWatch) -> None:
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.status()

    assert house.api(MailboxLimits(trace_ttl_s=0)).trace("rq") is None


def test_a_part_of_another_version_counts_as_missing(house: RedisHouse, watch: StatusWatch) -> None:
    watch.traces.add("rq", "what nobody here can read")
    watch.traces.add("rq" + REQUEST_SUFFIX, replicas_part("rq", "rq"))
    watch.status()

    found = traced(house, "rq")

    assert found.request is not None and found.jobs[0].part is None


def test_parts_wait_for_a_redis_that_is_away_and_the_overflow_is_counted(
    private_redis: EmbeddedRedis, private_house: RedisHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MOST_KEPT", 10)
    traces = Traces(ttl_s=60)
    worker = RedisWorkerMailbox(connect(private_redis.url), traces=traces)
    worker.open(lambda: True, WorkerReport)
    with Redis.from_url(private_redis.url) as client:
        client.config_set("maxmemory", 1)  # noeviction: scripts that write are refused
        traces.add("first", WORKERS_PART)
        eventually(lambda: not traces._lines)
        for number in range(15):
            traces.add(f"rq{number}", WORKERS_PART)
        client.config_set("maxmemory", 0)
        eventually(lambda: not traces.has_parts)
        dropped = eventually(lambda: client.hget("miniserve:totals", TRACES_DROPPED))
    worker.close()

    for name in ("first", "rq14"):  # known by its worker's part alone once the request is
        private_house.api().submit_recorded(a_record(name), [a_request(name)])
        assert traced(private_house, name).jobs[0].part == SEQUENCE
    assert int(dropped) == 5
