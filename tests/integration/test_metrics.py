"""What processes count and report: all of it where they stop in order, and where they die no number twice."""

from __future__ import annotations

import signal

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.capacity.observed import Observed
from scheduler.observations import TIME_BUCKETS_S
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, post_sentence, real_worker
from tests.scripted_queue import assert_balanced
from worker.queue.connection import Address
from worker.queue.redis_observer import SystemReader

GOED = "He goed to school"


def observed(redis_url: str) -> Observed:
    observatory = SystemReader(Address(redis_url))
    try:
        return observatory.observe()
    finally:
        observatory.close()


def test_a_worker_that_is_killed_takes_at_most_what_it_had_not_reported(api: ApiProcess, redis_url: str) -> None:
    with real_worker(redis_url) as worker:
        for _ in range(3):
            assert post_sentence(api.url, GOED).status == 200
        eventually(lambda: observed(redis_url).totals.get("iteration:requests") == 3)
        for _ in range(2):
            assert post_sentence(api.url, GOED).status == 200
        worker.kill()
        worker.wait()

    seen = observed(redis_url)
    assert seen.counts["done"] == 5, "Redis counts answers itself"
    assert 3 <= seen.totals["iteration:requests"] <= 5
    assert_balanced(seen)


def test_who_stops_in_order_reports_to_the_last(private_redis: EmbeddedRedis) -> None:
    url = private_redis.url
    with real_worker(url) as worker, ApiProcess(url) as api:
        for _ in range(4):
            assert post_sentence(api.url, GOED).status == 200
        for process in (api.process, worker):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0

    totals = observed(url).totals
    assert (totals["http:/correct:200"], totals["iteration:requests"]) == (4, 4)
    buckets = [totals.get(f"e2e_request_latency:{at}", 0) for at in range(len(TIME_BUCKETS_S) + 1)]
    assert sum(buckets) == 4
