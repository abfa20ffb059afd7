"""What `miniserve top` shows, as plain numbers: computed from two readings of GET /metrics, drawn elsewhere.

Gauges are those of the later reading. Rates and percentiles are of the time between the two: from differences of
counters and of histogram buckets. None stands for what the server does not tell, or what did not happen in that time.
The field names are the keys of `miniserve top --json` (docs/top.md): add some, rename none.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ops.observe.scrape import Scrape
from ops.observe.top.alarms import Alert, alerts_of
from scheduler.capacity.measure import Goals

_HISTOGRAMS = {
    "ttft": "miniserve_time_to_first_token_seconds",
    "itl": "miniserve_inter_token_latency_seconds",
    "e2e": "miniserve_e2e_request_latency_seconds",
    "queue": "miniserve_request_queue_time_seconds",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer of /metrics."""

    at_s: float  # when it was asked for, by a clock that never goes back
    scrape: Scrape


@dataclass(frozen=True, slots=True)
class Worker:
    """One live worker, as of its last beat."""

    name: str
    running: float | None
    waiting: float | None  # held by it, and not admitted yet
    slots: float | None
    kv_tokens: float | None
    kv_budget_tokens: float | None
    tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class Queue:
    """What was accepted and is unfinished, against its two bounds."""

    depth: float | None  # in the Redis list, given to no worker yet
    waiting: float | None  # these, and those that workers hold and have not admitted
    running: float | None
    max_requests: float | None  # waiting and running together
    reserved_tokens: float | None
    max_tokens: float | None
    oldest_waiting_s: float | None
    oldest_running_s: float | None
    dead_letters: float | None


@dataclass(frozen=True, slots=True)
class Rates:
    """Of the window."""

    arrivals_per_s: float | None  # accepted ones
    done_per_s: float | None
    failed_per_s: float | None  # accepted, and ended otherwise
    failed_by_type: dict[str, float]
    refused_per_s: float | None
    refused_by_type: dict[str, float]
    tokens_per_s: float | None  # prompts read and tokens made


@dataclass(frozen=True, slots=True)
class Latency:
    """What one histogram gained in the window."""

    count: float
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    highest_s: float | None  # the last finite bound: a percentile that equals it may be anything above


@dataclass(frozen=True, slots=True)
class Law:
    """Little's law, as the server takes it: L and W over its last minute, lambda over its last ten seconds."""

    number_in_system: float | None
    arrival_rate_per_s: float | None
    time_in_system_s: float | None
    residual: float | None  # |L - lambda W| / L, all three over the last minute


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the server computes of itself (scheduler/capacity/measure.py)."""

    utilization: float | None
    predicted_wait_s: float | None
    service_rate_tokens_per_s: float | None
    workers_live: float | None
    workers_needed: float | None
    queue_bound_tokens: float | None


@dataclass(frozen=True, slots=True)
class View:
    """The whole screen."""

    window_s: float
    api_replicas: float | None
    workers: tuple[Worker, ...]
    queue: Queue
    rates: Rates
    latency: dict[str, Latency]
    law: Law
    capacity: Capacity
    alerts: tuple[Alert, ...]


def view_of(earlier: Reading, later: Reading, goals: Goals) -> View:
    """Both may be the same one: then there are no rates and no percentiles yet."""
    window = _Window(later.at_s - earlier.at_s, earlier.scrape, later.scrape)
    scrape = later.scrape
    return View(
        window_s=window.seconds,
        api_replicas=scrape.value("miniserve_api_replicas"),
        workers=_workers(scrape),
        queue=_queue(scrape),
        rates=_rates(window),
        latency={name: _latency(window, metric) for name, metric in _HISTOGRAMS.items()},
        law=Law(
            scrape.value("miniserve_number_in_system"),
            scrape.value("miniserve_arrival_rate"),
            scrape.value("miniserve_time_in_system_seconds"),
            scrape.value("miniserve_littles_law_residual"),
        ),
        capacity=_capacity(scrape),
        alerts=alerts_of(window.earlier, scrape, window.seconds, goals),
    )


def document(view: View) -> dict[str, Any]:
    """For JSON, which knows neither infinity nor NaN: both become null."""
    return _finite(asdict(view))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class _Window:
    seconds: float
    earlier: Scrape
    later: Scrape

    def rate(self, *names: str) -> float | None:
        """Of some counters together; None where the server has none of them or no time has passed."""
        known = [name for name in names if name in self.later.samples]
        if not known or self.seconds <= 0:
            return None
        return sum(self.later.increase(name, self.earlier) for name in known) / self.seconds

    def rates_by(self, name: str, label: str) -> dict[str, float]:
        """Without those that stood still."""
        if self.seconds <= 0:
            return {}
        grown = {
            value: self.later.increase(name, self.earlier, **{label: value}) for value in self.later.by(name, label)
        }
        return {value: increase / self.seconds for value, increase in sorted(grown.items()) if increase > 0}


def _workers(scrape: Scrape) -> tuple[Worker, ...]:
    figures = {
        figure: scrape.by(f"miniserve_worker_{figure}", "worker")
        for figure in ("running", "waiting", "slots", "kv_tokens", "kv_budget_tokens", "tokens_per_second")
    }
    names = sorted(set().union(*figures.values()))
    return tuple(Worker(name, *(values.get(name) for values in figures.values())) for name in names)


def _queue(scrape: Scrape) -> Queue:
    return Queue(
        depth=scrape.value("miniserve_queue_depth"),
        waiting=scrape.value("miniserve_num_requests_waiting"),
        running=scrape.value("miniserve_num_requests_running"),
        max_requests=scrape.value("miniserve_max_queue_requests"),
        reserved_tokens=scrape.value("miniserve_reserved_tokens"),
        max_tokens=scrape.value("miniserve_max_queue_tokens"),
        oldest_waiting_s=scrape.value("miniserve_oldest_waiting_seconds"),
        oldest_running_s=scrape.value("miniserve_oldest_running_seconds"),
        dead_letters=scrape.value("miniserve_dead_letters"),
    )


def _rates(window: _Window) -> Rates:
    return Rates(
        arrivals_per_s=window.rate("miniserve_requests_accepted_total"),
        done_per_s=window.rate("miniserve_request_success_total"),
        failed_per_s=window.rate("miniserve_request_failure_total"),
        failed_by_type=window.rates_by("miniserve_request_failure_total", "type"),
        refused_per_s=window.rate("miniserve_admission_rejections_total"),
        refused_by_type=window.rates_by("miniserve_admission_rejections_total", "type"),
        tokens_per_s=window.rate("miniserve_prompt_tokens_total", "miniserve_generation_tokens_total"),
    )


def _latency(window: _Window, metric: str) -> Latency:
    """Percentiles as Prometheus' histogram_quantile() computes them: linear interpolation inside the bucket.

    Source: Prometheus documentation, "Query functions", histogram_quantile; ops/observe/scrape.py has the formula.
    It knows no more than the buckets: the true percentile lies in the same bucket, anywhere.
    """
    gained = window.later.histogram(metric).since(window.earlier.histogram(metric))
    if window.seconds <= 0 or gained.count <= 0:
        return Latency(0.0, None, None, None, None, None)
    highest_s = max((bound for bound, _ in gained.buckets if math.isfinite(bound)), default=None)
    p50_s, p95_s, p99_s = (gained.quantile(share) for share in (0.50, 0.95, 0.99))
    return Latency(gained.count, gained.mean, p50_s, p95_s, p99_s, highest_s)


def _capacity(scrape: Scrape) -> Capacity:
    return Capacity(
        utilization=scrape.value("miniserve_utilization"),
        predicted_wait_s=scrape.value("miniserve_predicted_wait_seconds"),
        service_rate_tokens_per_s=scrape.value("miniserve_service_rate"),
        workers_live=scrape.value("miniserve_workers"),
        workers_needed=scrape.value("miniserve_workers_needed"),
        queue_bound_tokens=scrape.value("miniserve_queue_bound_tokens"),
    )
