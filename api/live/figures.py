"""The figures next to the picture: rates, latencies, Little's law, workers and alerts, from two looks at the system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.capacity.health import health_of
from scheduler.capacity.measure import littles_residual, measure
from scheduler.capacity.observed import Observed
from scheduler.capacity.rules import Situation, holding
from scheduler.capacity.window import Window, between
from scheduler.observations import TIME_BUCKETS_S
from scheduler.settings import Settings


def figures(earlier: Observed, seen: Observed, settings: Settings) -> dict[str, Any]:
    """Rates and latencies are of the time between the two; all else is of now."""
    capacity, window = measure(seen, settings), between(earlier.now, seen.now)
    tokens = seen.totals.get("generation_tokens", 0) - earlier.totals.get("generation_tokens", 0)
    alerts = holding(Situation(seen, capacity, health_of(seen)), settings)
    return {
        "workers": [
            {"name": worker.name, "running": worker.num_running, "slots": worker.max_slots,
             "kv": round(worker.reserved_tokens / max(1, worker.kv_budget_tokens), 3)}
            for worker in seen.workers
        ],
        "running": seen.num_running,
        "waiting": seen.num_waiting,
        "answers_per_s": round(window.per_second(window.done), 1),
        "tokens_per_s": round(window.per_second(max(0.0, tokens)), 1),
        "ttft_ms": _quantiles(earlier.totals, seen.totals, "time_to_first_token"),
        "itl_ms": _quantiles(earlier.totals, seen.totals, "inter_token_latency"),
        "law": _law(window),
        "utilization": round(capacity.utilization, 3),
        "alerts": [{"name": one.name, "severity": one.severity, "sentence": one.sentence} for one in alerts],
    }  # fmt: skip


def _law(window: Window) -> dict[str, float] | None:
    """L, lambda and W; None where none has ended."""
    if window.ended <= 0:
        return None
    number, rate_per_s = window.per_second(window.area_s), window.per_second(window.accepted)
    stay_s = window.stay_s / window.ended
    residual = littles_residual(number, rate_per_s, stay_s)
    return {"L": round(number, 3), "rate_per_s": round(rate_per_s, 2), "W_ms": round(stay_s * 1e3, 1),
            "residual": round(residual, 4)}  # fmt: skip


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
