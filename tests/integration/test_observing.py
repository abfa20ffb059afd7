"""What OBSERVE tells: sums of reports, history, ages, and what it asks of a Redis in trouble."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.capacity.observed import WorkerFacts
from tests.scripted_queue import START_S, ScriptedQueue
from worker.queue.connection import Address
from worker.queue.heartbeat import Reporter
from worker.queue.redis_observer import SystemReader


def test_a_report_counts_once_though_it_came_twice(queue: ScriptedQueue) -> None:
    reporter = Reporter()

    queue.report(reporter, is_reply_lost=True, prompt_tokens=5, iteration__t=0.25)
    queue.report(reporter, prompt_tokens=9, iteration__t=0.75)  # what was sent is sent again, as it was
    queue.report(reporter, prompt_tokens=9, iteration__t=0.75)

    assert queue.observe().totals == {"prompt_tokens": 9, "iteration:t": 0.75}


def test_a_moment_is_known_to_the_microsecond(queue: ScriptedQueue) -> None:
    queue.now_s = 7.123457

    assert queue.observe().now.at_s == START_S + 7.123457


def test_replicas_count_as_long_as_they_report(queue: ScriptedQueue) -> None:
    first, second = Reporter(is_api=True), Reporter(is_api=True)
    seen = []
    queue.report(Reporter())  # a worker is none
    queue.report(first)
    queue.report(second)
    seen.append(queue.observe().num_api_replicas)
    queue.now_s = 1.5
    queue.report(second)
    queue.now_s = 2.5
    seen.append(queue.observe().num_api_replicas)
    queue.now_s = 4.0
    seen.append(queue.observe().num_api_replicas)

    assert seen == [2, 1, 0]


def test_history_has_a_row_a_second_of_the_last_two_minutes(queue: ScriptedQueue) -> None:
    reporter = Reporter()
    for tick in range(2 * 125):
        queue.now_s = tick / 2
        queue.beat("w")
        queue.report(reporter, iteration__n=tick)

    history = queue.observe().history

    assert [row.at_s - START_S for row in history] == [5.0 + second for second in range(120)]
    assert [later.iterations["n"] - row.iterations["n"] for row, later in zip(history, history[1:], strict=False)] == (
        [2] * 119
    )


def test_a_row_of_history_is_the_moment_that_was_told_then(queue: ScriptedQueue) -> None:
    queue.accept("a", "b")
    queue.now_s = 3.0
    queue.report(Reporter(), iteration__n=2, iteration__t=0.125, prompt_tokens=7)
    then = queue.observe().now
    queue.now_s = 4.0

    seen = queue.observe()

    assert seen.history == (then,)
    assert then.iterations == {"n": 2, "t": 0.125}
    assert (then.area_s, then.accepted, then.ended) == (pytest.approx(6.0), 2, 0)


def test_a_row_of_history_is_read_once_however_often_somebody_looks(queue: ScriptedQueue) -> None:
    queue.accept("a")
    for second in (1.0, 2.0, 3.0):
        queue.now_s = second
        queue.beat("w")

    rows = queue.observe().history
    with patch.object(json, "loads", wraps=json.loads) as loads:
        again = queue.observe().history

    assert len(rows) == 3 and again == rows
    assert loads.call_count <= 1  # that of now


def test_what_a_later_version_writes_into_history_is_overlooked(queue: ScriptedQueue) -> None:
    queue.accept("a")
    queue.now_s = 1.0
    queue.beat("w")
    row = json.loads(queue.client.lindex("miniserve:history", -1))
    queue.client.lset("miniserve:history", -1, json.dumps(row | {"something_new": 1}))

    assert [moment.accepted for moment in queue.observe().history] == [1]


def test_a_clock_that_was_set_back_stops_neither_the_area_nor_history(queue: ScriptedQueue) -> None:
    queue.now_s = 100.0
    queue.accept("a")
    queue.now_s = 101.0
    queue.beat("w")
    queue.now_s = 50.0
    queue.beat("w")
    before = queue.observe().now
    queue.now_s = 52.0

    seen = queue.observe()

    assert seen.now.area_s - before.area_s == pytest.approx(2.0)
    assert [row.at_s - START_S for row in seen.history] == [101.0, 50.0]


def test_the_oldest_are_told_by_age(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("z")  # the first, though not by its name
    queue.now_s = 1.0
    queue.accept("b", "c")
    assert queue.drain("w") == ["z", "b", "c"]
    queue.accept("d")
    queue.now_s = 3.0
    queue.accept("e")
    queue.beat("w", num_held=3, num_running=2, num_waiting=1)
    queue.now_s = 4.0

    seen = queue.observe()

    assert (seen.oldest_waiting_s, seen.oldest_running_s) == pytest.approx((3.0, 4.0), abs=1e-3)
    assert (seen.queue_depth, seen.num_waiting, seen.num_running) == (2, 3, 2)
    assert [(worker.name, worker.num_running, worker.num_waiting) for worker in seen.workers] == [("w", 2, 1)]


def test_a_worker_is_seen_with_the_limits_that_it_reports(queue: ScriptedQueue) -> None:
    queue.beat("w", kv_budget_tokens=4096, max_slots=64, max_prefill_rows=256, computed_tokens_per_s=12.5)

    seen = queue.observe()

    assert seen.workers == (
        WorkerFacts("w", kv_budget_tokens=4096, max_slots=64, max_prefill_rows=256, tokens_per_s=12.5),
    )


def test_a_worker_that_stands_still_is_no_worker_and_what_it_holds_grows_old(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("a")
    queue.drain("w")
    queue.beat("w", num_held=1, num_running=1)
    ages = []
    for queue.now_s in (2.0, 3.0, 100.0):
        seen = queue.observe()
        ages.append((len(seen.workers), seen.num_running, seen.oldest_running_s))
    queue.client.delete("rq:worker:w")  # Redis forgets it after a minute
    queue.now_s = 200.0
    seen = queue.observe()
    ages.append((len(seen.workers), seen.num_running, seen.oldest_running_s))

    expected = [(1, 1, 2.0), (0, 1, 3.0), (0, 1, 100.0), (0, 1, 200.0)]
    assert ages == [(*counts, pytest.approx(age)) for *counts, age in expected]


def test_a_redis_that_is_full_still_tells_its_numbers(private_redis: EmbeddedRedis) -> None:
    observatory = SystemReader(Address(private_redis.url))
    with Redis.from_url(private_redis.url) as client:
        queue = ScriptedQueue(client)
        queue.beat("w")
        queue.accept("a")
        client.config_set("maxmemory", 1)

        seen = observatory.observe()
    observatory.close()

    assert (seen.counts["accepted"], seen.num_waiting) == (1, 1)
    assert seen.redis_memory_bytes > seen.redis_max_memory_bytes == 1


def test_a_user_who_may_not_ask_for_memory_is_told_everything_else(private_redis: EmbeddedRedis) -> None:
    with Redis.from_url(private_redis.url) as client:
        ScriptedQueue(client).accept("a")
        client.acl_setuser("watcher", enabled=True, nopass=True, categories=["+@all"], commands=["-info"], keys=["*"])
    observatory = SystemReader(Address(private_redis.url.replace("://", "://watcher:any@")))

    seen = observatory.observe()
    observatory.close()

    assert (seen.counts["accepted"], seen.redis_memory_bytes) == (1, 0)


def test_a_moment_has_the_answers_of_the_api_by_kind_and_how_late_its_loops_are(queue: ScriptedQueue) -> None:
    counted = {"http:/correct:200": 5, "http:/correct:202": 1, "http:/correct/batch:200": 2, "http:/correct:422": 9,
               "http:/correct:503": 3, "http:/correct/batch:500": 1, "http:/metrics:200": 99,
               "http:/v2/check:200": 11, "http:/v2/check:504": 2, "http:/v2/check:400": 5, "http:/v2/languages:500": 9,
               "http:/requests/<request_id>:502": 7, "loop:ticks": 40, "loop:late_s": 1.5}  # fmt: skip
    queue.client.hset("miniserve:totals", mapping=counted)

    now = queue.observe().now

    assert (now.replies, now.errors, now.loop_ticks, now.loop_late_s) == (19, 6, 40, 1.5)
