"""GET /metrics of real replicas with real workers: whole numbers, each once, whoever is asked and whoever dies."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.capacity.observed import Observed
from scheduler.observations import TIME_BUCKETS_S
from tests.exposed_metrics import families_of
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, all_at_once, post_sentence, real_worker, send
from tests.scripted_queue import assert_balanced
from worker.queue.connection import Address
from worker.queue.redis_observer import SystemReader

GOED = "He goed to school"
# What differs between two looks at a system in which nothing happens: time passes, and Redis works.
OF_THE_MOMENT = ("redis_memory", "arrival_rate", "littles_law", "number_in_system", "time_in_system", "utilization",
                 "predicted_wait", "service_rate", "queue_bound", "workers_needed", "http_responses",
                 "worker_tokens_per_second")  # fmt: skip


@contextmanager
def replicas(redis_url: str, number: int) -> Iterator[list[ApiProcess]]:
    with all_at_once(*(ApiProcess(redis_url) for _ in range(number))) as processes:
        yield processes


@pytest.fixture(scope="module")
def apis(redis_server: EmbeddedRedis) -> Iterator[list[ApiProcess]]:
    """On the shared Redis: what they had counted and not reported goes into the sums of the next test."""
    with replicas(redis_server.url, 2) as processes:
        yield processes


def observed(redis_url: str) -> Observed:
    observatory = SystemReader(Address(redis_url))
    try:
        return observatory.observe()
    finally:
        observatory.close()


def scrape(api: ApiProcess) -> dict[str, float]:
    """Every series by name and labels."""
    families = families_of(send(api.url, "GET", "/metrics").body.encode()).values()
    return {
        " ".join([sample.name.removeprefix("miniserve_"), *sample.labels.values()]): sample.value
        for family in families
        for sample in family.samples
    }


def test_every_replica_tells_the_same_of_the_whole_system(private_redis: EmbeddedRedis) -> None:
    url = private_redis.url
    with real_worker(url), replicas(url, 2) as apis:
        for _ in range(5):
            for api in apis:
                assert post_sentence(api.url, GOED).status == 200

        told = eventually(lambda: _agreed(apis, num_requests=10), within_s=10)

    assert (told["workers"], told["api_replicas"], told["request_success_total stop"]) == (1, 2, 10)
    for name in ("time_to_first_token", "request_queue_time", "request_prefill_time", "request_decode_time"):
        assert told[f"{name}_seconds_count"] == 10
    assert told["generation_tokens_total"] == told["inter_token_latency_seconds_count"] + 10


def _agreed(apis: list[ApiProcess], num_requests: int) -> dict[str, float]:
    """What all tell, once all is reported."""
    first, second = (
        {name: value for name, value in scrape(api).items() if not name.startswith(OF_THE_MOMENT)} for api in apis
    )
    names = ("e2e_request_latency_seconds_count", "request_decode_time_seconds_count")
    is_reported = all(first[name] == num_requests for name in names)
    return first if is_reported and first == second else {}


def test_a_worker_that_is_killed_takes_at_most_what_it_had_not_reported(apis: list[ApiProcess], redis_url: str) -> None:
    with real_worker(redis_url) as worker:
        for _ in range(3):
            assert post_sentence(apis[0].url, GOED).status == 200
        eventually(lambda: observed(redis_url).totals.get("iteration:requests") == 3)
        for _ in range(2):
            assert post_sentence(apis[0].url, GOED).status == 200
        worker.kill()
        worker.wait()

    seen = observed(redis_url)
    assert seen.counts["done"] == 5, "Redis counts answers itself"
    assert 3 <= seen.totals["iteration:requests"] <= 5
    assert_balanced(seen)


def test_who_stops_in_order_reports_to_the_last(private_redis: EmbeddedRedis) -> None:
    url = private_redis.url
    with real_worker(url) as worker, replicas(url, 1) as (api,):
        for _ in range(4):
            assert post_sentence(api.url, GOED).status == 200
        for process in (api.process, worker):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0

    totals = observed(url).totals
    assert (totals["http:/correct:200"], totals["iteration:requests"]) == (4, 4)
    buckets = [totals.get(f"e2e_request_latency:{at}", 0) for at in range(len(TIME_BUCKETS_S) + 1)]
    assert sum(buckets) == 4
