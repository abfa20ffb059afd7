"""Drills on several Redis: one of three is killed under load, and three of which one is slow.

Each shard is a system of its own, Redis and a worker; the API replicas of the first know all three.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from ops.drills.drill import (
    ONCE,
    Findings,
    Stage,
    answers_per_s,
    at_least,
    at_most,
    count,
    equal,
    num_stored_twice,
    percentile,
    problems_of,
    tally,
)
from ops.drills.paced_worker import command
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Exchange, Traffic
from ops.load.arrivals import ClosedLoop, OpenLoop
from scheduler.shards import MARK_DIGITS, mark_of

_CLIENTS = 1000
_RATE_PER_S = 120.0
# Eight sequences at a time, an iteration each 20 ms: what a shard can do needs a tenth of a core.
_SETTINGS = replace(DRILL_SETTINGS, max_slots=8)
_ITERATION_MS = 20.0
_SLOW = 3.0
_CROWD = 32  # clients of each shard


@contextmanager
def _shards(stage: Stage, paces_ms: Sequence[float], num_apis: int = 2) -> Iterator[list[System]]:
    """A shard for each pace; the first has the API replicas of all."""
    with ExitStack() as stack:
        shapes = [Shape(num_apis=0, settings=_SETTINGS, worker_command=command(pace)) for pace in paces_ms]
        others = [stack.enter_context(stage.system(shape)) for shape in shapes[1:]]
        urls = tuple(other.redis_url for other in others)
        yield [stack.enter_context(stage.system(replace(shapes[0], num_apis=num_apis, shards=urls))), *others]


def kill_shard(stage: Stage) -> Findings:
    """SIGKILL the Redis of one of three shards under load, and start it again later, five times. 0 lost for clients
    that retry, nothing twice or wrong, none takes more than 4 s, and the p95 of all that come while it is away is at
    most 1.5 times that of before."""
    num_kills, seconds = stage.size(5, 1), stage.size(10.0, 4.0)
    questions = stage.questions()
    with _shards(stage, [_ITERATION_MS] * 3) as shards:
        first = shards[0]
        calm = stage.calm(first, questions)
        away: list[tuple[float, float]] = []
        with Traffic(first.urls, questions, OpenLoop(_RATE_PER_S, stage.seed, _CLIENTS)) as traffic:
            for number in range(num_kills):
                victim = shards[stage.rng.randrange(1, len(shards))]
                stage.show(number / num_kills, f"{number} kills, {len(traffic.ended):,} answered")
                first.pause(seconds)
                victim.kill_redis()
                killed_s = time.monotonic()
                first.pause(seconds)
                away.append((killed_s, time.monotonic()))
                victim.start_redis()
            first.pause(seconds)
            traffic.send_no_more()
            stage.follow(first, traffic, len(traffic.ended) or 1, f"{num_kills} kills")
        outcome = tally(traffic.ended, calm, sum(map(num_stored_twice, shards)))
    during = [one for one in traffic.ended if any(begin <= one.due_s < end for begin, end in away)]
    before_ms, during_ms = _p95_ms([one for one in traffic.ended if one.due_s < away[0][0]]), _p95_ms(during)
    back = [one for one in traffic.ended if one.due_s >= away[-1][1]]
    details = {
        "kills": num_kills,
        "p95_ms": {"before": before_ms, "while one is away": during_ms, "after": _p95_ms(back)},
        "by_shard": {"while one is away": _by_shard(shards, during), "after": _by_shard(shards, back)},
        "lost": problems_of(traffic.ended),
    }
    checks = [
        *outcome.checks(),
        at_most("longest ms", outcome.max_ms, 4000),
        at_most("p95 while one is away, of that before", round(during_ms / before_ms, 2), 1.5),
        at_least("answers of the one that is back", details["by_shard"]["after"][victim.redis_url], 1),
    ]
    return Findings(outcome, checks, details)


def uneven_shards(stage: Stage) -> Findings:
    """One shard alone, three equal ones, and three of which one is three times as slow, each at its peak. Three do at
    least 2.7 times what one does, the uneven ones 2.1 times, and the slow one makes nobody wait: its p95 is at most
    twice that of the others."""
    seconds, questions = stage.size(30.0, 5.0), stage.questions()
    paces = {
        "one": [_ITERATION_MS],
        "three": [_ITERATION_MS] * 3,
        "uneven": [_ITERATION_MS] * 2 + [_SLOW * _ITERATION_MS],
    }
    rows, exchanges = {}, []
    for name, paces_ms in paces.items():
        with _shards(stage, paces_ms, num_apis=1) as shards:
            stage.load(shards[0], questions, ClosedLoop(_CROWD * len(shards)), stage.size(5.0, 2.0), ONCE)
            ended = stage.load(shards[0], questions, ClosedLoop(_CROWD * len(shards)), seconds, ONCE).ended
            exchanges += ended
            p95_ms = {shard.redis_url: _p95_ms(_of(shard, ended)) for shard in shards} if len(shards) > 1 else {}
            rows[name] = {
                "answers_per_s": round(answers_per_s(ended), 1),
                "p95_ms": _p95_ms(ended),
                "by_shard": list(_by_shard(shards, ended).values()),
                "p95_ms_by_shard": list(p95_ms.values()),
            }
    outcome, alone = count(exchanges), rows["one"]["answers_per_s"]
    slow, others = rows["uneven"]["p95_ms_by_shard"][-1], rows["uneven"]["p95_ms_by_shard"][:-1]
    checks = [
        equal("lost", outcome.lost, 0),
        at_least("three, of one", round(rows["three"]["answers_per_s"] / alone, 2), 2.7),
        at_least("uneven, of one", round(rows["uneven"]["answers_per_s"] / alone, 2), 2.1),
        at_most("p95 of the slow one, of the others", round(slow / max(others), 2), 2.0),
    ]
    return Findings(outcome, checks, {"systems": rows})


def _of(shard: System, exchanges: Sequence[Exchange]) -> list[Exchange]:
    mark = mark_of(shard.redis_url)
    return [one for one in exchanges if one.request_id[:MARK_DIGITS] == mark]


def _by_shard(shards: Sequence[System], exchanges: Sequence[Exchange]) -> dict[str, int]:
    """Answers, by the Redis that gave them; of a single one all."""
    if len(shards) == 1:
        return {shards[0].redis_url: len(exchanges)}
    return {shard.redis_url: len(_of(shard, exchanges)) for shard in shards}


def _p95_ms(exchanges: Sequence[Exchange]) -> float:
    return percentile([1e3 * one.latency_s for one in exchanges if one.is_ok], 95) or 0.0
