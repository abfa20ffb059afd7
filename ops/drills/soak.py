"""The drill that only takes long: a steady load, and nothing may grow."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import psutil

from ops.drills.drill import Check, Findings, Stage, at_most, count, equal, percentile, problems_of
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


@dataclass(frozen=True, slots=True)
class Look:
    """What there was at one moment."""

    at_s: float
    rss_bytes: dict[str, int]
    redis_keys: int
    redis_bytes: int


def soak(stage: Stage, minutes: float = 30.0) -> Findings:
    """Thirty minutes at half load from a cold start. The processes grow by at most 2 % after the first five minutes,
    Redis' keys and memory by at most 5 % after seven (the load is random), and no KV token is reserved when idle.
    What the load is half of is measured on another system: nothing comes before the load here, no burst either."""
    seconds = stage.size(60 * minutes, 20.0)
    questions = stage.questions()
    with stage.system(Shape(settings=_SETTINGS)) as system:
        closed = stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(10.0, 2.0))
    capacity_per_s = len(closed.ended) / stage.size(10.0, 2.0)
    with stage.system(Shape(settings=_SETTINGS)) as system:
        looks: list[Look] = []
        with Traffic(system.urls, questions, stage.open_loop(_LOAD * capacity_per_s)) as traffic:
            _look_on(stage, system, traffic, (seconds, looks))
        reserved = system.counted("reserved_tokens") + system.redis.zcard("rq:wip:correct")
    growth = {} if stage.is_quick else growth_percent(looks)
    is_long = seconds >= _REDIS_WARM_S + 2 * _WINDOW_S  # else all there is to see is how things fill up
    bars = [
        at_most(f"{name} growth %", percent, 5.0 if "redis" in name else 2.0)
        for name, percent in growth.items()
        if is_long
    ]
    outcome = count(traffic.ended)
    details = {
        "rate_per_s": round(_LOAD * capacity_per_s, 1), "seconds": seconds, "growth_percent": growth,
        "p99_ms": percentile([1e3 * one.latency_s for one in traffic.ended if one.is_ok], 99),
        "lost": problems_of(traffic.ended),
    }  # fmt: skip
    checks: list[Check] = [equal("lost", outcome.lost, 0), equal("reserved when idle", reserved, 0), *bars]
    return Findings(outcome, checks, details)


def _look_on(stage: Stage, system: System, traffic: Traffic, about: tuple[float, list[Look]]) -> None:
    seconds, looks = about
    started_s = time.monotonic()
    while (elapsed_s := time.monotonic() - started_s) < seconds:
        looks.append(_look(system, elapsed_s))
        stage.show(elapsed_s / seconds, f"{len(traffic.ended):,} answered")
        system.pause(min(_EVERY_S, seconds - elapsed_s))
    traffic.send_no_more()
    stage.follow(system, traffic, len(traffic.ended) or 1, "the last ones")


def _look(system: System, at_s: float) -> Look:
    rss_bytes = {member.name: _rss_bytes(member.process.pid) for member in system.members}
    return Look(at_s, rss_bytes, system.redis.dbsize(), system.redis.info("memory")["used_memory"])


def _rss_bytes(pid: int) -> int:
    """Sum over the process and its children: a replica is a master and a worker."""
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in [process, *process.children()])


def growth_percent(looks: list[Look]) -> dict[str, float]:
    """In percent, from the minute after the warm-up to the last one (of a short run: the first and the last third)."""
    rss = {f"{name} rss": lambda look, name=name: look.rss_bytes[name] for name in looks[0].rss_bytes}
    redis = {"redis keys": lambda look: look.redis_keys, "redis memory": lambda look: look.redis_bytes}
    by_process = {name: _percent(looks, _WARM_S, of) for name, of in rss.items()}
    return by_process | {name: _percent(looks, _REDIS_WARM_S, of) for name, of in redis.items()}


def _percent(looks: list[Look], warm_s: float, of: Callable[[Look], float]) -> float:
    end_s = looks[-1].at_s
    warm_s, window_s = min(warm_s, end_s / 3), min(_WINDOW_S, end_s / 3)
    first = [of(look) for look in looks if warm_s <= look.at_s < warm_s + window_s]
    last = [of(look) for look in looks if look.at_s >= end_s - window_s]
    return round(100 * (statistics.mean(last) / statistics.mean(first) - 1), 2)
