"""What `miniserve top` shows, as plain numbers: computed from two readings of GET /metrics, drawn elsewhere.

Gauges are those of the later reading. Rates and percentiles are of the time between the two: from differences of
counters and of histogram buckets. None stands for what the server does not report, or what did not happen in that time.
The field names are the keys of `miniserve top --json` (docs/top.md): add some, rename none.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ops.observe.capacity import METRICS
from ops.observe.scrape import Scrape
from ops.observe.top.alarms import alerts_of
from scheduler.capacity.rules import Alert
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
# As `miniserve capacity` has them. L and W are of the server's last minute, lambda of its last ten seconds.
_LAW = ("number_in_system", "arrival_rate_per_s", "time_in_system_s", "residual")
_CAPACITY = ("utilization", "predicted_wait_s", "service_rate_tokens_per_s", "workers_needed", "queue_bound_tokens")
# Of the window: accepted, ended with an answer, ended otherwise, refused; prompts read and tokens made.
_RATES = {
    "arrivals_per_s": ("requests_accepted",), "done_per_s": ("request_success",),
    "failed_per_s": ("request_failure",), "refused_per_s": ("admission_rejections",),
    "tokens_per_s": ("prompt_tokens", "generation_tokens"),
}  # fmt: skip
_RATES_BY_TYPE = {"failed_by_type": "request_failure", "refused_by_type": "admission_rejections"}
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
class Latency:
    """What one histogram gained in the window."""

    count: float
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    highest_s: float | None  # the last finite bound: a percentile that equals it may be anything above


@dataclass(frozen=True, slots=True)
class View:
    """The whole screen."""

    window_s: float
    api_replicas: float | None
    workers: tuple[dict[str, Any], ...]
    queue: Figures
    rates: dict[str, Any]
    latency: dict[str, Latency]
    law: Figures
    capacity: Figures
    alerts: tuple[Alert, ...]


def view_of(earlier: Reading, later: Reading, settings: Settings) -> View:
    """Both may be the same one: then there are no rates and no percentiles yet."""
    window = _Window(later.at_s - earlier.at_s, earlier.scrape, later.scrape)
    scrape = later.scrape
    return View(
        window_s=window.seconds,
        api_replicas=scrape.value("miniserve_api_replicas"),
        workers=_workers(scrape),
        queue={name: scrape.value(f"miniserve_{metric}") for name, metric in _QUEUE.items()},
        rates={name: window.rate(*counters) for name, counters in _RATES.items()}
        | {name: window.rates_by(counter) for name, counter in _RATES_BY_TYPE.items()},
        latency={name: _latency(window, metric) for name, metric in _HISTOGRAMS.items()},
        law={name: scrape.value(METRICS[name]) for name in _LAW},
        capacity={"workers_live": scrape.value(METRICS["num_workers"])}
        | {name: scrape.value(METRICS[name]) for name in _CAPACITY},
        alerts=alerts_of(window.earlier, scrape, window.seconds, settings),
    )


def document(view: View) -> dict[str, Any]:
    """Return it for JSON, which knows neither infinity nor NaN: both become null."""
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

    def rate(self, *counters: str) -> float | None:
        """Return the rate of some counters together; None if the server has none of them or no time has passed."""
        names = [name for name in map(_total, counters) if name in self.later.samples]
        if not names or self.seconds <= 0:
            return None
        return sum(self.later.increase(name, self.earlier) for name in names) / self.seconds

    def rates_by(self, counter: str, label: str = "type") -> dict[str, float]:
        """Return the rates by label, without those that stood still."""
        if self.seconds <= 0:
            return {}
        values = sorted(self.later.by(_total(counter), label))
        grown = {value: self.later.increase(_total(counter), self.earlier, **{label: value}) for value in values}
        return {value: increase / self.seconds for value, increase in grown.items() if increase > 0}


def _total(counter: str) -> str:
    return f"miniserve_{counter}_total"


def _workers(scrape: Scrape) -> tuple[dict[str, Any], ...]:
    figures = {name: scrape.by(f"miniserve_worker_{metric}", "worker") for name, metric in _WORKER.items()}
    names = sorted(set().union(*figures.values()))
    return tuple({"name": name} | {one: values.get(name) for one, values in figures.items()} for name in names)


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
