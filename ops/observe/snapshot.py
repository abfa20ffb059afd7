"""The numbers of a running system at one moment, from GET /metrics, for `capacity` and `top`.

Gauges are those of the later of two scrapes. Rates and percentiles are of the time between the two: from differences of
counters and of histogram buckets. None stands for what the server does not report, or what did not happen in that time.
The field names are the keys of `miniserve top --json` (docs/watch.md): add some, rename none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from ops.observe.scrape import Histogram, Scrape
from scheduler.capacity.health import Health
from scheduler.capacity.measure import Capacity
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.rules import Alert, Situation, holding
from scheduler.settings import Settings

Figures = dict[str, float | None]
# Of each worker, as of its last beat; `waiting` is held by it and not admitted yet.
_WORKER = {
    "running": "running", "waiting": "waiting", "slots": "slots", "kv_tokens": "kv_tokens",
    "kv_budget_tokens": "kv_budget_tokens", "tokens_per_s": "tokens_per_second",
}  # fmt: skip
# What was accepted and is unfinished, against its two bounds. `depth`: in the Redis list, given to no worker yet;
# `waiting`: these, and those that workers hold and have not admitted; `max_requests`: waiting and running together.
_QUEUE = {
    "depth": "queue_depth", "waiting": "num_requests_waiting", "running": "num_requests_running",
    "max_requests": "max_queue_requests", "reserved_tokens": "reserved_tokens", "max_tokens": "max_queue_tokens",
    "oldest_waiting_s": "oldest_waiting_seconds", "oldest_running_s": "oldest_running_seconds",
    "dead_letters": "dead_letters",
}  # fmt: skip
# L and W are of the server's last minute, lambda of its last ten seconds.
_LAW = {
    "number_in_system": "number_in_system", "arrival_rate_per_s": "arrival_rate",
    "time_in_system_s": "time_in_system_seconds", "residual": "littles_law_residual",
}  # fmt: skip
_CAPACITY = {
    "utilization": "utilization", "predicted_wait_s": "predicted_wait_seconds", "workers_needed": "workers_needed",
    "service_rate_tokens_per_s": "service_rate", "queue_bound_tokens": "queue_bound_tokens",
}  # fmt: skip
# Of the window: accepted, ended with an answer, ended otherwise, refused; prompts read and tokens made.
_RATES = {
    "arrivals_per_s": ("requests_accepted",), "done_per_s": ("request_success",),
    "failed_per_s": ("request_failure",), "refused_per_s": ("admission_rejections",),
    "tokens_per_s": ("prompt_tokens", "generation_tokens"),
}  # fmt: skip
_RATES_BY_TYPE = {"failed_by_type": "request_failure", "refused_by_type": "admission_rejections"}
# What the rules of the alerts look at: fields of Observed, Capacity and Health.
_OBSERVED = {
    "oldest_waiting_s": "oldest_waiting_seconds", "dead_letters": "dead_letters",
    "redis_memory_bytes": "redis_memory_bytes", "redis_max_memory_bytes": "redis_max_memory_bytes",
}  # fmt: skip
_MEASURED = {
    "residual": "littles_law_residual", "utilization": "utilization", "predicted_wait_s": "predicted_wait_seconds",
}  # fmt: skip
_HEALTH = {
    "failing_share": "failing_ratio", "stuck_s": "stuck_seconds", "queue_time_s": "queue_time_mean_seconds",
    "leaked_tokens": "leaked_tokens", "api_late_s": "api_late_seconds", "redis_evicts": "redis_evicts",
    "redis_refuses_writes": "redis_refuses_writes", "foreign_workers": "foreign_workers",
}  # fmt: skip
_HISTOGRAMS = {
    "ttft": "time_to_first_token_seconds", "itl": "inter_token_latency_seconds",
    "e2e": "e2e_request_latency_seconds", "queue": "request_queue_time_seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Latency:
    """What one histogram gained in the window."""

    count: float = 0.0
    mean_s: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    highest_s: float | None = None  # the last finite bound: a percentile that equals it may be anything above


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole system."""

    window_s: float
    api_replicas: float | None
    workers: tuple[dict[str, Any], ...]
    queue: Figures
    rates: dict[str, Any]
    latency: dict[str, Latency]
    law: Figures
    capacity: Figures
    alerts: tuple[Alert, ...]

    def document(self) -> dict[str, Any]:
        """Return it for JSON, which knows neither infinity nor NaN: both become null."""
        document: dict[str, Any] = to_jsonable_python(self, inf_nan_mode="null")
        return document


def snapshot(earlier: Scrape, later: Scrape, settings: Settings) -> Snapshot:
    """Both may be the same one: then there are no rates and no percentiles yet."""

    def gauges(names: dict[str, str]) -> Figures:
        return {name: later.value(f"miniserve_{metric}") for name, metric in names.items()}

    seconds = later.at_s - earlier.at_s
    gained = later.since(earlier) if seconds > 0 else Scrape({})
    rates = {name: _rate(gained, counters, seconds) for name, counters in _RATES.items()}
    by_type = {name: _rates_by_type(gained, counter, seconds) for name, counter in _RATES_BY_TYPE.items()}
    return Snapshot(
        window_s=seconds,
        api_replicas=later.value("miniserve_api_replicas"),
        workers=_workers(later),
        queue=gauges(_QUEUE),
        rates=rates | by_type,
        latency={name: _latency(gained.histogram(f"miniserve_{metric}")) for name, metric in _HISTOGRAMS.items()},
        law=gauges(_LAW),
        capacity={"workers_live": later.value("miniserve_workers")} | gauges(_CAPACITY),
        alerts=_alerts(earlier, later, settings),
    )


def _rate(gained: Scrape, counters: Sequence[str], seconds: float) -> float | None:
    """Of some counters together; None if the server has none of them or no time has passed."""
    names = [name for counter in counters if (name := f"miniserve_{counter}_total") in gained.samples]
    return sum(map(gained.total, names)) / seconds if names else None


def _rates_by_type(gained: Scrape, counter: str, seconds: float) -> dict[str, float]:
    """Without those that stood still."""
    grown = sorted(gained.by(f"miniserve_{counter}_total", "type").items())
    return {name: increase / seconds for name, increase in grown if increase > 0}


def _workers(scrape: Scrape) -> tuple[dict[str, Any], ...]:
    figures = {name: scrape.by(f"miniserve_worker_{metric}", "worker") for name, metric in _WORKER.items()}
    names = sorted(set().union(*figures.values()))
    return tuple({"name": name} | {one: values.get(name) for one, values in figures.items()} for name in names)


def _latency(gained: Histogram) -> Latency:
    if gained.count <= 0:
        return Latency()
    highest_s = max((bound for bound, _ in gained.buckets if math.isfinite(bound)), default=None)
    p50_s, p95_s, p99_s = (gained.quantile(share) for share in (0.50, 0.95, 0.99))
    return Latency(gained.count, gained.mean, p50_s, p95_s, p99_s, highest_s)


def _alerts(earlier: Scrape, later: Scrape, settings: Settings) -> tuple[Alert, ...]:
    """The rules that hold in this reading, the worst first.

    `miniserve monitor` raises an alert once its condition has held for a while, and clears it later still; who may have
    looked for the first time a second ago has no such memory. Growing dead letters are those of the window.
    """
    if later.value("miniserve_workers") is None:  # a server that does not report the numbers that the rules need
        return ()

    def gauge(name: str, scrape: Scrape = later) -> Any:
        return scrape.value(f"miniserve_{name}") or 0.0

    observed = Observed(
        now=_moment(later),
        history=(_moment(earlier),),
        workers=tuple(WorkerFacts(str(number)) for number in range(int(gauge("workers")))),
        num_api_replicas=max(1, int(gauge("api_replicas"))),  # one has answered
        **{field: gauge(metric) for field, metric in _OBSERVED.items()},
    )
    measured = {field: gauge(metric) for field, metric in _MEASURED.items()}
    capacity = Capacity(workers_needed=int(gauge("workers_needed")), **measured)
    health = Health(**{field: gauge(metric) for field, metric in _HEALTH.items()})
    new_dead_letters = int(max(0.0, gauge("dead_letters") - gauge("dead_letters", earlier)))
    return holding(Situation(observed, capacity, health, new_dead_letters), settings)


def _moment(scrape: Scrape) -> Moment:
    """Shows whether the load is steady, which the rule of Little's law asks for."""
    ended = scrape.total("miniserve_request_success_total") + scrape.total("miniserve_request_failure_total")
    return Moment(scrape.at_s, accepted=int(scrape.total("miniserve_requests_accepted_total")), ended=int(ended))
