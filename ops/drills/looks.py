"""What drills look at while a load lasts, and what it comes to."""

from __future__ import annotations

import statistics
from typing import Any

import psutil

from ops.drills.drill import Look
from ops.drills.system import System

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


GROWTH = Look(read=_sizes, sum_up=lambda looks: {"growth_percent": growth_percent(looks)})
MEMORY = Look(
    read=lambda system: system.redis.info("memory")["used_memory"],
    sum_up=lambda looks: {"most_redis_bytes": max(held for _, held in looks)},
    every_s=0.1,
)
