"""Faults that are none: a load lasts for so long, and is looked at meanwhile."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import psutil

from ops.drills.drill import Fault, Size, Stage
from ops.drills.figures import Figures
from ops.drills.system import System
from ops.load.traffic import Traffic

Looks = list[tuple[float, Any]]
_WARM_S = 300.0  # buffers and memories of words fill up
_REDIS_WARM_S = 420.0  # so do the answers that are kept for a minute
_WINDOW_S = 60.0


def _sizes(system: System) -> dict[str, int]:
    """A replica is a master and a worker."""
    sizes = {f"{member.name} rss": _rss_bytes(member.process.pid) for member in system.members}
    return sizes | {"redis keys": system.redis.dbsize(), "redis memory": system.redis.info("memory")["used_memory"]}


def _rss_bytes(pid: int) -> int:
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in [process, *process.children()])


def growth_percent(looks: Looks) -> dict[str, float]:
    """From the minute after the warm-up to the last one (of a short run: the first and the last third)."""
    return {name: _percent(looks, name) for name in looks[0][1]}


def _percent(looks: Looks, name: str) -> float:
    end_s = looks[-1][0]
    warm_s = min(_REDIS_WARM_S if "redis" in name else _WARM_S, end_s / 3)
    window_s = min(_WINDOW_S, end_s / 3)
    first = [sizes[name] for at_s, sizes in looks if warm_s <= at_s < warm_s + window_s]
    last = [sizes[name] for at_s, sizes in looks if at_s >= end_s - window_s]
    return round(100 * (statistics.mean(last) / statistics.mean(first) - 1), 2)


def growth(seconds: Size) -> Fault:
    """For so long; how much each has grown."""
    return _looking(_sizes, lambda looks: {"growth_percent": growth_percent(looks)}, seconds, every_s=1.0)


def memory(seconds: Size) -> Fault:
    """For so long; the most that Redis held."""
    most = lambda looks: {"most_redis_bytes": max(held for _, held in looks)}  # noqa: E731
    return _looking(lambda system: system.redis.info("memory")["used_memory"], most, seconds, every_s=0.1)


def _looking(
    read: Callable[[System], Any], sum_up: Callable[[Looks], Figures], seconds: Size, *, every_s: float
) -> Fault:
    def look(stage: Stage, traffic: Traffic) -> Figures:
        looks: Looks = []
        begun_s, last_s = time.monotonic(), stage.size(seconds)
        while not looks or looks[-1][0] < last_s:
            stage.system.pause(every_s)
            looks.append((time.monotonic() - begun_s, read(stage.system)))
            stage.show(looks[-1][0] / last_s, f"{len(traffic.ended):,} answered")
        return sum_up(looks)

    return look
