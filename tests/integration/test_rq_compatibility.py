"""What the classes of RQ 2.12 and 3.0, `rq info` and rq-dashboard's pages make of our keys: they are our monitor."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rq
from redis import Redis
from rq import Queue, Worker
from rq.job import Job, JobStatus
from rq.registry import CanceledJobRegistry, FailedJobRegistry, FinishedJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer

from scheduler.messages import NO_CAPACITY, Completion, FinishReason
from tests.dashboard_process import dashboard_of
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    a_bare_submission,
    a_request,
    an_answer,
    answer,
    eventually,
    take,
    take_one,
)
from tests.running_system import send
from worker.queue.protocol import FUNCTION_NAME, WorkerReport

STATES = ("queued", "started", "finished", "failed", "canceled")


@pytest.fixture
def one_of_each(house: RedisHouse) -> str:
    """A request in each state, named after it, and a worker; returns the worker's name."""
    api, worker = house.api(), house.worker(lambda: WorkerReport(totals={"iteration:t": 1.5}))
    for name in ("finished", "failed", "started", "canceled", "queued"):
        api.submit(a_request(name))
    assert take(worker, free_tokens=42 * 3) == ["finished", "failed", "started"]
    endings = [an_answer("finished"), Completion("failed", FinishReason.ERROR, error="<b>no & such</b> thing")]
    worker.exchange(endings, NO_CAPACITY)
    api.cancel("canceled")
    client = house.connect()
    eventually(lambda: client.zscore("rq:canceled:correct", "canceled"))
    eventually(lambda: client.hget(f"rq:worker:{worker.name}", "state") == b"busy")
    return worker.name


def fetch(name: str, client: Redis) -> Job:
    return Job.fetch(name, connection=client, serializer=JSONSerializer)


def test_these_tests_run_the_release_that_is_asked_for() -> None:
    assert rq.__version__ == os.environ.get("TEST_RQ_VERSION", rq.__version__)


def test_rq_reads_a_job_in_every_state_and_finds_it_in_the_registry(one_of_each: str, client: Redis) -> None:
    for state in STATES:
        job = fetch(state, client)
        assert job.get_status() is JobStatus(state)
        assert (job.func_name, job.args[0]["request_id"], job.kwargs) == (FUNCTION_NAME, state, {})
        assert (job.origin, job.description, job.meta) == ("correct", "correct: at most 42 tokens", {})
        assert abs(job.created_at - datetime.now(UTC)) < timedelta(seconds=60)
        assert (job.started_at is not None) == (state in ("started", "finished", "failed"))
        assert (job.ended_at is not None) == (state in ("finished", "failed", "canceled"))

    found = {
        "queued": Queue("correct", connection=client, serializer=JSONSerializer).get_job_ids(),
        "started": StartedJobRegistry("correct", connection=client).get_job_ids(),
        "finished": FinishedJobRegistry("correct", connection=client).get_job_ids(),
        "failed": FailedJobRegistry("correct", connection=client).get_job_ids(),
        "canceled": CanceledJobRegistry("correct", connection=client).get_job_ids(),
    }

    assert found == {state: [state] for state in STATES}
    assert {queue.name for queue in Queue.all(connection=client)} == {"correct", "correct-async"}


def test_rq_reads_results_and_failures(one_of_each: str, client: Redis) -> None:
    finished, failed = fetch("finished", client).latest_result(), fetch("failed", client).latest_result()

    assert (finished.type, Completion.from_wire(finished.return_value)) == (
        finished.Type.SUCCESSFUL,
        an_answer("finished"),
    )
    assert finished.worker_name == one_of_each
    assert (failed.type, failed.exc_string) == (failed.Type.FAILED, "<b>no & such</b> thing")
    stored = base64.b64decode(client.xrevrange("rq:results:failed", count=1)[0][1][b"return_value"]).decode()
    assert not set("<>&") & set(stored)  # a dashboard shows it as it is
    assert json.loads(stored)["error"] == "<b>no & such</b> thing"


def test_rq_sees_the_worker_and_its_counts(one_of_each: str, client: Redis) -> None:
    (worker,) = Worker.all(connection=client)

    assert (worker.name, worker.get_state(), worker.pid) == (one_of_each, "busy", os.getpid())
    assert worker.queue_names() == ["correct", "correct-async"]
    assert (worker.successful_job_count, worker.failed_job_count) == (1, 1)
    assert abs(worker.last_heartbeat - datetime.now(UTC)) < timedelta(seconds=10)
    batch = worker.get_current_job()
    assert (batch.description, batch.get_call_string()) == ("continuous batch: 1 sequences", "continuous batch()")
    assert worker.total_working_time == 1.5
    eventually(lambda: Worker.all(connection=client)[0].ip_address in [one["addr"] for one in client.client_list()])


def test_finished_jobs_are_forgotten_in_time(one_of_each: str, client: Redis, house: RedisHouse) -> None:
    assert 0 < client.ttl("rq:job:finished") <= 120  # a beat forgets it after 60
    assert 0 < client.ttl("rq:results:finished") <= 120
    assert client.ttl("rq:job:failed") > 86_400
    assert client.ttl("rq:job:started") == -1
    assert client.hstrlen("rq:job:finished", "data") < 80 < client.hstrlen("rq:job:failed", "data")  # it may run again
    client.zadd("rq:finished:correct", {"finished": 1})  # its time ran out in 1970

    eventually(lambda: not client.exists("rq:job:finished", "rq:results:finished", "rq:finished:correct"))


def test_a_dead_letter_that_rq_puts_back_is_run_again_though_its_deadline_is_over(
    house: RedisHouse, client: Redis, redis_url: str
) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a"), within_s=30.0)
    assert take(worker) == ["a"]
    house.end_deadline("a")
    worker.exchange([Completion("a", FinishReason.ERROR, error="x")], AMPLE)

    Job.fetch("a", connection=client).requeue()  # as the dashboard does, with RQ's default serializer
    delivery = take_one(worker)
    reserved_while_it_runs, ttl_s = api.observe().reserved_tokens, client.ttl("rq:job:a")
    answer(worker, "a")

    assert (delivery.request, delivery.attempt) == (a_request("a"), 1)
    assert (reserved_while_it_runs, ttl_s) == (42, -1)
    assert api.observe().reserved_tokens == 0
    assert fetch("a", client).latest_result().return_value["request_id"] == "a"


@pytest.mark.parametrize("beats", [False, True], ids=["taken at once", "after a beat"])
def test_an_answered_job_that_rq_enqueues_again_keeps_its_answer(
    house: RedisHouse, client: Redis, caplog: pytest.LogCaptureFixture, beats: bool
) -> None:
    api, worker = house.api(), house.worker()
    api.enqueue(replace(a_bare_submission([a_request("a")], 3600.0), may_be_known=beats))  # a plain one
    answer(worker, *eventually(lambda: take(worker)))

    Queue("correct", connection=client, serializer=JSONSerializer).enqueue_job(fetch("a", client))
    if beats:
        worker._heartbeat._register_at_s = 0.0
        eventually(lambda: worker._heartbeat._register_at_s)

    assert take(worker) == []
    assert (fetch("a", client).get_status(), client.llen("rq:queue:correct")) == ("finished", 0)
    assert fetch("a", client).latest_result().return_value["request_id"] == "a"
    assert (api.status().reserved_requests, client.zcard("rq:failed:correct"), caplog.text) == (0, 0, "")


def test_the_dashboard_shows_every_job_in_its_list_and_the_batch_of_the_worker(
    one_of_each: str, redis_url: str
) -> None:
    with dashboard_of(redis_url) as url:

        def data(name: str) -> Any:
            return send(url, "GET", f"/0/data/{name}.json").body

        listed = {state: [job["id"] for job in data(f"jobs/correct/{state}/8/asc/1")["jobs"]] for state in STATES}
        pages = [send(url, "GET", f"/0/view/job/{state}").status for state in STATES]
        queue, _ = sorted(data("queues")["queues"], key=lambda one: one["name"])
        (worker,) = data("workers")["workers"]

    assert (listed, pages) == ({state: [state] for state in STATES}, [200] * len(STATES))
    assert (queue["name"], queue["count"], queue["failed_job_registry_count"]) == ("correct", 1, 1)
    assert (worker["name"], worker["state"]) == (one_of_each, "busy")
    assert worker["current_job"]["call_string"] == "continuous batch: 1 sequences"
