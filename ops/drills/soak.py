"""The drill that only takes long: a steady load, and nothing may grow."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import psutil

from ops.drills.drill import Check, Findings, Stage, at_most, equal, latency_ms, problems_of, tally
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Traffic
from ops.load.arrivals import ClosedLoop

_LOAD = 0.5
_CLIENTS = 16
_WARM_S = 300.0  # buffers and memories of words fill up
_REDIS_WARM_S = 420.0  # so do the answers that are kept for a minute
_WINDOW_S = 60.0
_EVERY_S = 1.0
# Answers as long as a user's Redis keeps them: the plateau that keys and memory must stay on.
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60)

Looks = list[tuple[float, dict[str, int]]]  # when, and what there was, by name


def soak(stage: Stage, minutes: float = 30.0) -> Findings:
    """Thirty minutes at half load from a cold start. The processes grow by at most 2 % after the first five minutes,
    Redis' keys and memory by at most 5 % after seven (the load is random), and no KV token is reserved when idle.
    What the load is half of is measured on another system: nothing comes before the load here, no burst either."""
    seconds, burst_s = stage.size(60 * minutes, 20.0), stage.size(10.0, 2.0)
    questions = stage.questions()
    with stage.system(Shape(settings=_SETTINGS)) as system:
        capacity_per_s = len(stage.load(system, questions, ClosedLoop(_CLIENTS), burst_s)) / burst_s
    with stage.system(Shape(settings=_SETTINGS)) as system:
        with Traffic(system.urls, questions, stage.open_loop(_LOAD * capacity_per_s)) as traffic:
            looks = _look_on(stage, system, traffic, seconds)
            traffic.send_no_more()
            stage.follow(system, traffic, "the last ones")
        reserved = system.counted("reserved_tokens") + system.num_running()
    growth = {} if stage.is_quick else growth_percent(looks)
    is_long = seconds >= _REDIS_WARM_S + 2 * _WINDOW_S  # else all there is to see is how things fill up
    bars = growth.items() if is_long else ()
    outcome = tally(traffic.ended)
    details = {
        "rate_per_s": round(_LOAD * capacity_per_s, 1), "seconds": seconds, "growth_percent": growth,
        "p99_ms": latency_ms(traffic.ended, 99), "lost_by": problems_of(traffic.ended),
    }  # fmt: skip
    checks: list[Check] = [equal("lost", outcome.lost, 0), equal("reserved when idle", reserved, 0)]
    checks += [at_most(f"{name} growth %", percent, 5.0 if "redis" in name else 2.0) for name, percent in bars]
    return Findings(outcome, checks, details)


def _look_on(stage: Stage, system: System, traffic: Traffic, seconds: float) -> Looks:
    looks: Looks = []
    started_s = time.monotonic()
    while (elapsed_s := time.monotonic() - started_s) < seconds:
        sizes = {f"{member.name} rss": _rss_bytes(member.process.pid) for member in system.members}
        sizes |= {"redis keys": system.redis.dbsize(), "redis memory": system.redis.info("memory")["used_memory"]}
        looks.append((elapsed_s, sizes))
        stage.show(elapsed_s / seconds, f"{len(traffic.ended):,} answered")
        system.pause(min(_EVERY_S, seconds - elapsed_s))
    return looks


def _rss_bytes(pid: int) -> int:
    """Sum over the process and its children: a replica is a master and a worker."""
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in [process, *process.children()])


def growth_percent(looks: Looks) -> dict[str, float]:
    """In percent, from the minute after the warm-up to the last one (of a short run: the first and the last third)."""
    return {name: _percent(looks, name) for name in looks[0][1]}


def _percent(looks: Looks, name: str) -> float:
    end_s = looks[-1][0]
    warm_s = min(_REDIS_WARM_S if "redis" in name else _WARM_S, end_s / 3)
    window_s = min(_WINDOW_S, end_s / 3)
    first = [sizes[name] for at_s, sizes in looks if warm_s <= at_s < warm_s + window_s]
    last = [sizes[name] for at_s, sizes in looks if at_s >= end_s - window_s]
    return round(100 * (statistics.mean(last) / statistics.mean(first) - 1), 2)
