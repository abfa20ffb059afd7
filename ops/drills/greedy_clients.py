"""Drills on clients that ask for more than their share: of Redis' memory, and of the engine.

The greedy ones send asynchronous requests from an address of their own and do not heed Retry-After.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ops.drills.drill import ONCE, Findings, Stage, at_least, at_most, equal, latency_ms, problems_of, tally
from ops.drills.system import DRILL_SETTINGS, Shape
from ops.drills.traffic import ENDLESS, Habits, Traffic
from ops.load.arrivals import ClosedLoop, Limits, OpenLoop

OTHERS = "127.0.0.3"
MEMORY_MB = 64
_GREEDY = replace(ONCE, addresses=("127.0.0.2",), headers={"Prefer": "respond-async"})
_GREEDY_BATCHES = replace(_GREEDY, path="/correct/batch")
_BATCH = {"sentences": [f"He go {number}." for number in range(64)]}
_BLANKS = {"sentence": "Go." + "\u3000" * 39_970 + "Go."}
_GOOD_PER_S = 10.0  # of clients that behave; what the flood must leave them carries 25/s that each stay for 60 s
_NUM_OTHERS = 8
_DRAIN_PATIENCE_S = 60.0
_BATCHES_PER_S = 25.0  # 22 kB/s: far more than one worker corrects
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60)


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
            Traffic(system.urls, [_BATCH], ClosedLoop(4), ENDLESS, _GREEDY_BATCHES) as batches,
            Traffic(system.urls, [_BLANKS], ClosedLoop(4), ENDLESS, _GREEDY) as blanks,
            Traffic(system.urls, questions, arrivals, limits) as traffic,
        ):
            while not traffic.is_over:
                look()
                stage.show(len(used) / stage.size(500, 80), f"{used[-1] / 2**20:.1f} MiB used")
                system.pause(0.1)
        drained_s = system.wait_until(lambda: system.num_reserved() == 0, _DRAIN_PATIENCE_S, "an empty queue")
        look()
    outcome, statuses = tally(traffic.ended), Counter(one.status for one in [*batches.ended, *blanks.ended])
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
        flood = OpenLoop(_BATCHES_PER_S, stage.seed, 4)
        with Traffic(system.urls, [_BATCH], flood, ENDLESS, _GREEDY_BATCHES) as batches:
            beside = stage.load(system, questions, ClosedLoop(_NUM_OTHERS), seconds, others)
        system.wait_until(lambda: system.num_reserved() == 0, _DRAIN_PATIENCE_S, "an empty queue")
    statuses = Counter(one.status for one in batches.ended)
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
