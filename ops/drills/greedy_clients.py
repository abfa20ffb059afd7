"""Drills on clients that ask for more than their share: of Redis' memory, and of the engine.

The greedy ones send asynchronous requests from an address of their own and do not heed Retry-After.
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
from urllib.parse import urlsplit

from ops.drills.drill import Findings, Stage, at_least, at_most, equal, latency_ms, problems_of, tally
from ops.drills.system import DRILL_SETTINGS, Shape
from ops.drills.traffic import Habits, Traffic
from ops.load.arrivals import ClosedLoop, Limits

GREEDY, OTHERS = "127.0.0.2", "127.0.0.3"
MEMORY_MB = 64
_BATCH = ("/correct/batch", json.dumps({"sentences": [f"He go {number}." for number in range(64)]}))
_BLANKS = ("/correct", json.dumps({"sentence": "Go." + "\u3000" * 39_970 + "Go."}, ensure_ascii=False))
_GOOD_PER_S = 10.0  # of clients that behave; what the flood must leave them carries 25/s that each stay for 60 s
_NUM_OTHERS = 8
_DRAIN_PATIENCE_S = 60.0
_PAUSE_S = 0.16  # 25 batches a second, 22 kB/s: far more than one worker corrects
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60)


@contextmanager
def flood(
    url: str, requests: Sequence[tuple[str, str]], num_connections: int, pause_s: float = 0.0
) -> Iterator[Counter[int]]:
    """Connections that each send one request `pause_s` after the answer to the one before; yields their statuses."""
    statuses: Counter[int] = Counter()
    stopping = threading.Event()

    def run(first: int) -> None:
        headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10.0, source_address=(GREEDY, 0))
        in_turn = cycle([*requests[first % len(requests) :], *requests[: first % len(requests)]])
        while not stopping.wait(pause_s):
            path, body = next(in_turn)
            try:
                connection.request("POST", path, body.encode(), headers)
                response = connection.getresponse()
                response.read()
                statuses[response.status] += 1
            except (OSError, http.client.HTTPException):  # it is refused, too
                statuses[0] += 1
                connection.close()
                stopping.wait(0.1)
        connection.close()

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(num_connections)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def fill_memory(stage: Stage) -> Findings:
    """60 s of asynchronous batches and of texts of blanks, from 8 connections, into a Redis of 64 MiB. Clients that
    wait for their answers all get them and are refused nothing, Redis is never full, and afterwards the queue drains to
    the last request."""
    questions, used, queued = stage.questions(), [], []
    with stage.system(Shape(settings=replace(_SETTINGS, redis_memory_mb=MEMORY_MB))) as system:

        def look() -> None:
            used.append(system.redis.info("memory")["used_memory"])
            queued.append(system.num_queued() + system.redis.llen("rq:queue:correct-async"))

        arrivals, limits = stage.open_loop(_GOOD_PER_S), Limits(duration_s=stage.size(60.0, 8.0))
        with (
            flood(system.urls[0], (_BATCH, _BLANKS), 8) as statuses,
            Traffic(system.urls, questions, arrivals, limits) as traffic,
        ):
            while not traffic.is_over:
                look()
                stage.show(len(used) / stage.size(500, 80), f"{used[-1] / 2**20:.1f} MiB used")
                system.pause(0.1)
        drained_s = system.wait_until(lambda: system.num_reserved() == 0, _DRAIN_PATIENCE_S, "an empty queue")
        look()
    outcome = tally(traffic.ended)
    figures = {
        "most_used_mib": round(max(used) / 2**20, 1), "most_waiting": max(queued), "bound_mib": MEMORY_MB,
        "drained_after_s": round(drained_s, 2), "flood_statuses": _by_status(statuses),
        "lost_by": problems_of(traffic.ended), "p99_ms": latency_ms(traffic.ended, 99),
    }  # fmt: skip
    checks = [
        equal("lost", outcome.lost, 0),
        equal("refused", outcome.refused, 0),
        at_most("most memory of Redis", max(used), MEMORY_MB * 2**20),
        at_least("flood accepted", statuses[202], 1),
        at_least("flood refused", statuses[503] + statuses[429], 1),
        equal("waiting in the end", queued[-1], 0),
    ]
    return Findings(outcome, checks, figures)


def greedy_client(stage: Stage) -> Findings:
    """One client sends asynchronous batches of 64, up to 25 a second over 4 connections; 8 others wait for their
    answers, one sentence each. The others' median is at most twice what it is without the greedy one, and none of
    theirs is refused."""
    questions, seconds, others = stage.questions(), stage.size(30.0, 3.0), Habits(addresses=(OTHERS,))
    with stage.system(Shape(settings=_SETTINGS)) as system:
        stage.calm(system, questions[: stage.size(200, 20)])
        calm = stage.load(system, questions, ClosedLoop(_NUM_OTHERS), seconds, others)
        with flood(system.urls[0], (_BATCH,), 4, _PAUSE_S) as statuses:
            beside = stage.load(system, questions, ClosedLoop(_NUM_OTHERS), seconds, others)
        system.wait_until(lambda: system.num_reserved() == 0, _DRAIN_PATIENCE_S, "an empty queue")
    outcome, calm_ms = tally(beside), latency_ms(calm, 50)
    figures = {
        "calm_p50_ms": calm_ms, "p99_ms": latency_ms(beside, 99), "flood_statuses": _by_status(statuses),
        "lost_by": problems_of(beside),
    }  # fmt: skip
    checks = [
        equal("lost", outcome.lost, 0),
        equal("refused", outcome.refused, 0),
        at_least("flood accepted", statuses[202], 1),
        at_least("flood refused for its share", statuses[429], 1),
        at_most("others' p50 ms", latency_ms(beside, 50), 2 * (calm_ms or 0.0)),
    ]
    return Findings(outcome, checks, figures)


def _by_status(statuses: Counter[int]) -> dict[str, int]:
    return {str(status): number for status, number in sorted(statuses.items())}
