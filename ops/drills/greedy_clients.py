"""Drills on clients that ask for more than their share: of Redis' memory, and of the engine.

The greedy ones send from an address of their own and do not heed Retry-After.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

from ops.drills.drill import Findings, Stage, at_least, at_most, count, equal, percentile, problems_of
from ops.drills.system import DRILL_SETTINGS, DrillError, Shape, System
from ops.drills.traffic import Habits, Traffic
from ops.load.arrivals import ClosedLoop, Limits
from worker.queue.protocol import MailboxDown
from worker.queue.redis_observer import SystemReader
from worker.queue.redis_py import connect

GREEDY, OTHERS = "127.0.0.2", "127.0.0.3"
MEMORY_MB = 64
_BATCH = ("/correct/batch", json.dumps({"sentences": [f"He go {number}." for number in range(64)]}))
_BLANKS = ("/correct", json.dumps({"sentence": "Go." + "\u3000" * 39_970 + "Go."}, ensure_ascii=False))
_GOOD_PER_S = 10.0  # of clients that behave; what the flood must leave them carries 25/s that each stay for 60 s
_NUM_OTHERS = 8
_DRAIN_PATIENCE_S = 60.0
_PAUSE_S = 0.16  # 25 batches a second, 22 kB/s: far more than one worker corrects


class Flood:
    """Threads that send asynchronous requests, each `pause_s` after the answer to the one before."""

    def __init__(self, url: str, bodies: Sequence[tuple[str, str]], num_connections: int, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s
        self.statuses: Counter[int] = Counter()
        self._netloc = urlsplit(url).netloc
        self._bodies = [(path, body.encode()) for path, body in bodies]
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(at,), daemon=True) for at in range(num_connections)]

    @contextmanager
    def flowing(self) -> Iterator[Flood]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            for thread in self._threads:
                thread.join()

    def _run(self, first: int) -> None:
        headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
        connection = http.client.HTTPConnection(self._netloc, timeout=10.0, source_address=(GREEDY, 0))
        bodies = cycle([*self._bodies[first % len(self._bodies) :], *self._bodies[: first % len(self._bodies)]])
        while not self._stopping.wait(self._pause_s):
            path, body = next(bodies)
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                response.read()
                self.statuses[response.status] += 1
            except (OSError, http.client.HTTPException):  # it is refused, too
                self.statuses[0] += 1
                connection.close()
                self._stopping.wait(0.1)
        connection.close()


def fill_memory(stage: Stage) -> Findings:
    """60 s of asynchronous batches and of texts of blanks, from 8 connections, into a Redis of 64 MiB. Clients that
    wait for their answers all get them and are refused nothing, Redis is never full, and afterwards the queue drains to
    the last request."""
    shape = Shape(settings=replace(DRILL_SETTINGS, result_ttl_s=60, redis_memory_mb=MEMORY_MB))
    questions = stage.questions()
    with stage.system(shape) as system:
        watch = _MemoryWatch(system)
        arrivals, limits = stage.open_loop(_GOOD_PER_S), Limits(duration_s=stage.size(60.0, 8.0))
        flood = Flood(system.urls[0], (_BATCH, _BLANKS), 8)
        with flood.flowing(), Traffic(system.urls, questions, arrivals, limits) as traffic:
            while not traffic.is_over:
                watch.look()
                stage.show(len(watch.used) / stage.size(500, 80), f"{watch.used[-1] / 2**20:.1f} MiB used")
                system.pause(0.1)
        drained_s = system.wait_until(lambda: _num_open(system) == 0, _DRAIN_PATIENCE_S, "an empty queue")
        watch.look()
        watch.close()
    outcome = count(traffic.ended)
    figures = watch.figures() | {"bound_mib": MEMORY_MB, "drained_after_s": round(drained_s, 2)}
    figures |= {"flood_statuses": _by_status(flood), "lost": problems_of(traffic.ended)}
    figures |= {"p99_ms": percentile([1e3 * one.latency_s for one in traffic.ended if one.is_ok], 99)}
    checks = [
        equal("lost", outcome.lost, 0),
        equal("refused", outcome.refused, 0),
        at_most("most memory of Redis", max(watch.used), MEMORY_MB * 2**20),
        at_least("flood accepted", flood.statuses[202], 1),
        at_least("flood refused", flood.statuses[503] + flood.statuses[429], 1),
        equal("waiting in the end", watch.queued[-1], 0),
    ]
    return Findings(outcome, checks, figures)


class _MemoryWatch:
    """Looks at the memory that Redis uses, and at the queue."""

    def __init__(self, system: System) -> None:
        self.used: list[int] = []
        self.queued: list[int] = []
        self._reader = SystemReader(connect(system.redis_url))

    def look(self) -> None:
        try:
            seen = self._reader.observe()
        except MailboxDown as error:
            raise DrillError(f"Redis cannot be watched: {error}") from None
        self.used.append(seen.redis_memory_bytes)
        self.queued.append(seen.queue_depth)

    def figures(self) -> dict[str, Any]:
        return {
            "most_used_mib": round(max(self.used) / 2**20, 1),
            "most_waiting": max(self.queued),
        }

    def close(self) -> None:
        self._reader.close()


def greedy_client(stage: Stage) -> Findings:
    """One client sends asynchronous batches of 64, up to 25 a second over 4 connections; 8 others wait for their
    answers, one sentence each. The others' median is at most twice what it is without the greedy one, and none of
    theirs is refused."""
    questions, seconds, others = stage.questions(), stage.size(30.0, 3.0), Habits(addresses=(OTHERS,))
    with stage.system(Shape(settings=replace(DRILL_SETTINGS, result_ttl_s=60))) as system:
        stage.calm(system, questions[: stage.size(200, 20)])
        calm = stage.load(system, questions, ClosedLoop(_NUM_OTHERS), seconds, others)
        flood = Flood(system.urls[0], (_BATCH,), 4, _PAUSE_S)
        with flood.flowing():
            beside = stage.load(system, questions, ClosedLoop(_NUM_OTHERS), seconds, others)
        system.wait_until(lambda: _num_open(system) == 0, _DRAIN_PATIENCE_S, "an empty queue")
    outcome = count(beside.ended)
    calm_ms, beside_ms = (percentile([1e3 * one.latency_s for one in some.ended], 50) for some in (calm, beside))
    figures = {
        "calm_p50_ms": calm_ms,
        "p50_ms": beside_ms,
        "p99_ms": percentile([1e3 * one.latency_s for one in beside.ended], 99),
        "flood_statuses": _by_status(flood),
        "lost": problems_of(beside.ended),
    }
    checks = [
        equal("lost", outcome.lost, 0),
        equal("refused", outcome.refused, 0),
        at_least("flood accepted", flood.statuses[202], 1),
        at_least("flood refused for its share", flood.statuses[429], 1),
        at_most("others' p50 ms", beside_ms, 2 * (calm_ms or 0.0)),
    ]
    return Findings(outcome, checks, figures)


def _num_open(system: System) -> int:
    return system.redis.hlen("miniserve:reservations")


def _by_status(flood: Flood) -> dict[str, int]:
    return {str(status): number for status, number in sorted(flood.statuses.items())}
