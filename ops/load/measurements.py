"""A load whose clients send once: what came back, and how long it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ops.load.traffic import Exchange, Traffic

_TICK_S = 0.1
QUANTILES = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99}


@dataclass(slots=True)
class Measurements:
    """Measures one load. Latencies are those of status 200: a refusal is quick and says nothing of the service."""

    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)  # slugs of the answers that are no 200
    failures: Counter[str] = field(default_factory=Counter)  # requests without an answer, by kind
    elapsed_s: float = 0.0

    @property
    def num_over(self) -> int:
        """Requests that ended in some way."""
        return self.statuses.total() + self.failures.total()

    def add(self, one: Exchange) -> None:
        if not one.status:
            self.failures[one.slug] += 1
            return
        self.statuses[one.status] += 1
        if one.is_ok:
            self.latencies_s.append(one.latency_s)
        else:
            self.problems[one.slug or "no problem document"] += 1

    def summary(self, slo_ms: float | None) -> dict[str, Any]:
        """JSON-ready. Throughput counts 200s only; goodput those of them that came within `slo_ms`."""
        latencies_ms = 1e3 * np.array(self.latencies_s)
        per_s = 1 / max(self.elapsed_s, 1e-9)
        summary: dict[str, Any] = {
            "requests": self.num_over,
            "seconds": round(self.elapsed_s, 3),
            "throughput_per_s": round(len(latencies_ms) * per_s, 1),
            "mean_ms": round(float(latencies_ms.mean()), 2) if len(latencies_ms) else None,
            **{name: percentile(latencies_ms, q) for name, q in QUANTILES.items()},
            "max_ms": percentile(latencies_ms, 100),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "problems": dict(self.problems.most_common()),
            "failures": dict(self.failures.most_common()),
        }
        if slo_ms is not None:
            within = int((latencies_ms <= slo_ms).sum())
            summary |= {"slo_ms": slo_ms, "goodput_per_s": round(within * per_s, 1)}
        return summary


def measure(traffic: Traffic, on_tick: Callable[[Measurements], None] = lambda _: None) -> Measurements:
    """Send the load, until all of it has ended; `on_tick` sees the measurements as they grow."""
    measured = Measurements()
    traffic.on_end = measured.add  # nobody keeps millions of requests
    with traffic:
        is_over = False
        while not is_over:
            is_over = traffic.wait(_TICK_S)
            measured.elapsed_s = traffic.elapsed_s
            on_tick(measured)
    return measured


def is_clean(summary: Mapping[str, Any]) -> bool:
    """Every request was answered with 200."""
    return not (summary["problems"] or summary["failures"])


def percentile(values: Sequence[float] | np.ndarray, percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 2) if len(values) else None
