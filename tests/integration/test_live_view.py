"""The live view over real workers: events while somebody looks, and nothing before and after."""

from __future__ import annotations

import asyncio
import http.client
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from tests.running_system import RunningSystem, events_of, post_json, wait_until
from worker.queue import heartbeat
from worker.queue.connection import Address, Command, RedisConnection, checked
from worker.queue.heartbeat import LIVE, Heartbeat
from worker.queue.protocol import BEAT_S, WorkerReport
from worker.queue.redis_observer import RedisObserver

TEXTS = {"sentences": [f"He goed to school {number} times and they was late." for number in range(40)]}


@contextmanager
def viewer(url: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port)
    try:
        connection.request("GET", "/ops/events", headers=headers)
        yield connection.getresponse()
    finally:
        connection.close()


def events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """As they come."""
    return events_of(iter(lambda: response.readline().decode(), ""))


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    with RunningSystem("--workers", "2", "--grace-s", "600") as system:
        yield system


def has_stream(system: RunningSystem) -> bool:
    with Redis.from_url(system.redis_url) as client:
        return bool(client.exists("miniserve:live"))


def test_a_viewer_sees_the_batches_of_all_workers(system: RunningSystem) -> None:
    assert post_json(system.url, "/correct/batch", TEXTS).status == 200
    assert not has_stream(system)

    with viewer(system.url) as response:
        seen, workers = [], set()
        for name, document in events(response):
            if name == "batch":
                workers.add(document["worker"])
                seen += document["iterations"]
                if len(workers) < 2 or not seen:
                    post_json(system.url, "/correct/batch", TEXTS)
                assert document["slots"] == 256
            if len(workers) == 2 and any(iteration[3] for iteration in seen):
                break


def test_after_the_last_viewer_nothing_stays_in_redis(system: RunningSystem) -> None:
    with viewer(system.url) as response, Redis.from_url(system.redis_url) as client:
        next(document for name, document in events(response) if name == "batch")
        assert 0 < client.pttl("miniserve:live") <= 10_000

    with Redis.from_url(system.redis_url) as client:
        wait_until(lambda: client.pttl("miniserve:live") < 8_000, 30, "a stream that nobody prolongs")
        wait_until(lambda: not client.exists("miniserve:watched"), 30, "a watch that ends")


def test_ten_seconds_of_every_worker_are_kept_whatever_their_number(
    private_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_S", 0.005)
    monkeypatch.setattr(heartbeat, "_REGISTER_S", 0.0)  # how many there are is learnt then
    num_workers, num_beats = 6, ceil(10 / BEAT_S)
    reports = [WorkerReport(live=lambda _, number=number: f'{{"worker":"w{number}"}}') for number in range(num_workers)]
    with Redis.from_url(private_redis.url) as client:
        beats = [
            Heartbeat(RedisConnection(Address(private_redis.url)), f"w{number}", 60.0, lambda: None)
            for number in range(num_workers)
        ]
        for beat, report in zip(beats, reports, strict=True):
            beat.start(lambda: True, lambda report=report: report)
        until_full = 3 * num_workers * num_beats
        wait_until(lambda: int(client.xinfo_stream(LIVE)["entries-added"]) > until_full, 30, "many beats")
        for beat in beats:
            beat.stop()
        kept = Counter(fields[b"news"] for _, fields in client.xrange(LIVE))

    assert len(kept) == num_workers and sum(kept.values()) < 2 * num_workers * num_beats
    assert sum(kept.values()) >= num_workers * num_beats


def test_a_look_has_all_that_was_told_since_the_one_before_and_nothing_older(redis_url: str) -> None:
    connection = RedisConnection(Address(redis_url))

    async def ask(command: Command) -> Any:
        return checked(connection.ask(command)[0])

    def told_and_looked(place: str) -> tuple[list[str], str]:
        for _ in range(200):
            connection.ask(("XADD", LIVE, "*", "news", "{}"))
        return asyncio.run(RedisObserver(ask).news(place))

    before, place = told_and_looked("")
    news, _ = told_and_looked(place)
    connection.close()

    assert before == [] and news == ["{}"] * 200


def test_a_viewer_does_not_hold_up_a_stop(system: RunningSystem) -> None:
    """The last one: nothing is left for others."""
    with viewer(system.url) as response:
        next(events(response))
        system.signal(signal.SIGTERM)
        wait_until(lambda: system.process.poll() is not None, 20, "the end of the process")
