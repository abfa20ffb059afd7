"""The figures beside the picture: rates, latencies, Little's law, workers and alerts, from two looks at the system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.capacity.health import health_of
from scheduler.capacity.measure import Goals, measure
from scheduler.capacity.observed import Observed
from scheduler.capacity.rules import Situation, holding
from scheduler.observations import TIME_BUCKETS_S


def figures(earlier: Observed, seen: Observed, goals: Goals) -> dict[str, Any]:
    """Rates and latencies are of the time between the two; all else is of now."""
    capacity, seconds = measure(seen, goals), seen.now.at_s - earlier.now.at_s

    def rate(field: str) -> float:
        grown = seen.totals.get(field, 0) - earlier.totals.get(field, 0)
        return round(max(0.0, grown) / seconds, 1) if seconds > 0 else 0.0

    alerts = holding(Situation(seen, capacity, health_of(seen)), goals)
    return {
        "workers": [
            {"name": worker.name, "running": worker.num_running, "slots": worker.max_slots,
             "kv": round(worker.reserved_tokens / max(1, worker.kv_budget_tokens), 3)}
            for worker in seen.workers
        ],
        "running": seen.num_running,
        "waiting": seen.num_waiting,
        "answers_per_s": round((seen.now.done - earlier.now.done) / seconds, 1) if seconds > 0 else 0.0,
        "tokens_per_s": rate("generation_tokens"),
        "ttft_ms": _quantiles(earlier.totals, seen.totals, "time_to_first_token"),
        "itl_ms": _quantiles(earlier.totals, seen.totals, "inter_token_latency"),
        "law": {
            "L": round(capacity.number_in_system, 2),
            "rate_per_s": round(capacity.arrival_rate_per_s, 2),
            "W_ms": round(capacity.time_in_system_s * 1e3, 1),
            "residual": round(capacity.residual, 4),
        },
        "utilization": round(capacity.utilization, 3),
        "alerts": [{"name": one.name, "severity": one.severity, "sentence": one.sentence} for one in alerts],
    }  # fmt: skip


def _quantiles(earlier: Mapping[str, float], later: Mapping[str, float], field: str) -> list[float] | None:
    """The median and the 95th percentile in ms; None where nothing came."""
    names = [f"{field}:{at}" for at in range(len(TIME_BUCKETS_S) + 1)]
    counts = [max(0.0, later.get(name, 0) - earlier.get(name, 0)) for name in names]
    return [_quantile(counts, share) for share in (0.5, 0.95)] if sum(counts) else None


def _quantile(counts: Sequence[float], share: float) -> float:
    """Within a bucket values count as spread evenly; beyond the last bound, that bound."""
    rank, below, low = share * sum(counts), 0.0, 0.0
    for number, bound in zip(counts, TIME_BUCKETS_S, strict=False):
        if number and below + number >= rank:
            return round(1e3 * (low + (bound - low) * (rank - below) / number), 1)
        below, low = below + number, bound
    return round(1e3 * TIME_BUCKETS_S[-1], 1)
