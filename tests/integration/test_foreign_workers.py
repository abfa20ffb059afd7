"""What RQ's own workers do to our queue, started by mistake: no request is lost, and each gets exactly one answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis
from rq.job import Job
from rq.serializers import JSONSerializer

from api.service.readiness import Readiness
from scheduler.capacity.alerts import Alerts
from scheduler.capacity.health import health_of
from scheduler.capacity.observed import WorkerFacts
from scheduler.errors import NotReady
from scheduler.settings import Settings
from tests.mailbox_house import (
    RedisHouse,
    SubmittingMailbox,
    a_request,
    an_answer,
    answer,
    eventually,
    take,
)
from tests.running_system import child
from tests.scripted_queue import assert_balanced
from worker.queue.worker_end import WorkerMailbox

RQ = str(Path(sys.executable).with_name("rq"))


def run_rq(redis_url: str, *words: str) -> None:
    """One of RQ's commands, to its end."""
    subprocess.run([RQ, *words, "-u", redis_url], stdin=subprocess.DEVNULL, capture_output=True, check=True)


def serve(worker: WorkerMailbox, num: int) -> dict[str, int]:
    """Take and answer until so many have come; how often each came."""
    times: dict[str, int] = {}

    def has_answered() -> bool:
        for request_id in take(worker):
            times[request_id] = times.get(request_id, 0) + 1
            answer(worker, request_id)
        return len(times) >= num

    eventually(has_answered, within_s=60)
    return times


def test_what_a_worker_of_rq_has_failed_is_answered_by_ours(house: RedisHouse, client: Redis, redis_url: str) -> None:
    api = house.api()
    waiting = [api.submit(a_request(name), within_s=120.0) for name in ("a", "b", "c")]

    run_rq(redis_url, "worker-pool", "--burst", "-n", "2", "correct")  # nobody of ours is there yet
    api.loop.call_soon_threadsafe(api.own._poll, 0.0)
    times = serve(house.worker(), 3)

    assert [api.wait(wanted, 60).request_id for wanted in waiting] == ["a", "b", "c"]
    assert times == {"a": 1, "b": 1, "c": 1}
    eventually(lambda: not client.zcard("rq:failed:correct"))
    seen = api.observe()
    assert_balanced(seen)
    assert (seen.counts["done"], seen.counts["accepted"], seen.reserved_tokens, seen.dead_letters) == (3, 3, 0, 0)


@pytest.fixture
def foreign_worker(redis_url: str) -> Iterator[str]:
    """The name of a worker of RQ's that listens on our queue."""
    name = "somebody-elses"
    with child(RQ, "worker", "--name", name, "-u", redis_url, "correct-async"), Redis.from_url(redis_url) as client:
        eventually(lambda: client.hget(f"rq:worker:{name}", "birth"), within_s=60)
        yield name


def test_a_worker_of_rq_is_named_by_an_alert(house: RedisHouse, foreign_worker: str) -> None:
    observed = house.api().observe()
    changes = Alerts(Settings()).evaluate(observed, None, 0.0)

    assert observed.foreign_workers == (foreign_worker,)
    assert [change.rule.name for change in changes if foreign_worker in change.sentence] == ["foreign-worker"]


def reason_of(api: SubmittingMailbox) -> str:
    """Why /readyz is 503."""
    readiness = Readiness()
    readiness.look(api.status)
    try:
        readiness.check()
    except NotReady as error:
        return str(error)
    return ""


def test_our_workers_obey_rq_suspend_and_rq_resume(
    house: RedisHouse, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    api, worker = house.api(), house.worker()
    running = api.submit(a_request("running"))
    assert take(worker) == ["running"]

    run_rq(redis_url, "suspend")
    eventually(lambda: "suspended" in caplog.text)
    waiting = api.submit(a_request("waiting"))
    taken_meanwhile = take(worker)
    answer(worker, "running")
    eventually(lambda: taken_meanwhile.extend(take(worker)) or "rq resume" in reason_of(api))
    health = health_of(replace(api.observe(), workers=(WorkerFacts("ours"),), oldest_waiting_s=60.0))
    run_rq(redis_url, "resume")
    eventually(lambda: "resumed" in caplog.text)
    serve(worker, 1)

    assert (taken_meanwhile, health.stuck_s) == ([], 0.0)
    assert [api.wait(each, 60).request_id for each in (running, waiting)] == ["running", "waiting"]


def test_an_answer_stays_when_a_worker_of_rq_fails_its_job_afterwards(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"))
    assert take(worker) == ["a"]
    answer(worker, "a")
    job = Job.fetch("a", connection=client, serializer=JSONSerializer)

    with client.pipeline() as pipeline:  # as at the end of Worker.handle_job_failure
        job.set_status("failed", pipeline=pipeline)
        job._handle_failure("ModuleNotFoundError: miniserve", pipeline)
        pipeline.execute()
    dead_letters = api.observe().dead_letters

    assert dead_letters == 0
    assert api.wait(api.submit(a_request("a")), 60) == an_answer("a")
    eventually(lambda: client.zscore("rq:finished:correct", "a") and not client.zcard("rq:failed:correct"))
    assert client.hget("rq:job:a", "status") == b"finished"
    assert 0 < client.ttl("rq:job:a") <= 60
