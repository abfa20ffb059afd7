"""GET /metrics: the whole system in the Prometheus text format, the same from every replica.

Names after vLLM's, so that boards carry over. What a number means is said here once, in its help text; the tables name
where it comes from. Nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import attrgetter

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from api.service.exchange import Exchange
from api.service.threads import PAGES, in_thread
from api.telemetry.recorder import DROPPED, E2E, HTTP, KEY, KEY_TOKENS, REJECTED
from scheduler.capacity.health import health_of
from scheduler.capacity.measure import measure, measure_pools
from scheduler.capacity.observed import Observed
from scheduler.observations import SIZE_BUCKETS, SUM, TIME_BUCKETS_S
from scheduler.settings import Settings

FRESH_FOR_S = 0.25  # the page is open, and each costs milliseconds
_PREFIX = "miniserve_"

_TIMES = {  # field of the totals: help; the metric is `<field>_seconds`
    "time_to_first_token": "Acceptance to the first output token, queueing included.",
    "inter_token_latency": "Between two output tokens of a sequence that follow each other.",
    E2E: "An HTTP request that was answered, from its head to the answer's first byte, or to a stream's last.",
    "request_queue_time": "Acceptance to first scheduling.",
    "request_prefill_time": "The iteration that read the prompt and gave the first token.",
    "request_decode_time": "From the first token to the last.",
    "request_handoff_time": "From the first token of a prefill worker until a decode worker goes on from it.",
}
_SIZES = {
    "iteration_tokens": "Tokens computed in an iteration: prompt tokens and decode steps.",
    "batch_size": "Sequences in an iteration.",
}
_COUNTERS = {  # metric: help, and field of the totals, or of the queue's own counts
    "prompt_tokens": ("Prompt tokens read.", "prompt_tokens"),
    "generation_tokens": ("Output tokens generated.", "generation_tokens"),
    "deferred_for_budget": (
        "Sentences that once stood first in line and did not fit into the KV cache.", "deferred_for_budget"
    ),
    "iterations": ("Iterations of all workers.", "iteration:n"),
    "requests_accepted": ("Sentences accepted.", "accepted"),
    "log_lines_dropped": ("Log lines of API processes that nobody read fast enough.", DROPPED),
    "duplicate_answers": ("Answers dropped, for another was first.", "duplicates"),
}  # fmt: skip
_OF_PROCESSES = {  # how fields of the totals begin: metric, help, and labels
    HTTP: ("http_responses", "HTTP responses, but those to probes.", ["route", "status"]),
    KEY: ("key_responses", "HTTP responses by the name of the API key.", ["key", "status"]),
    KEY_TOKENS: ("key_tokens", "Tokens read and generated for a key.", ["key"]),
}
_FAILURES = {  # by type: how the queue counts it
    "request-failed": "failed", "cancelled": "cancelled", "deadline-exceeded": "expired",
    "removed-by-operator": "removed",
}  # fmt: skip
_REFUSALS = {"queue-full": "refused_full", "rate-limited": "refused_share", "deadline-exceeded": "refused_late"}

# Gauges: where the number comes from, and help.
_GAUGES = {
    "num_requests_running": ("num_running", "Sentences in the batches of the workers."),
    "num_requests_waiting": ("num_waiting", "Sentences in the queue, or held by workers."),
    "queue_depth": ("queue_depth", "Sentences in the Redis list."),
    "reserved_tokens": ("reserved_tokens", "Tokens reserved by all accepted, unfinished sentences."),
    "oldest_waiting_seconds": ("oldest_waiting_s", "Age of the sentence first in line; 0 without."),
    "oldest_running_seconds": ("oldest_running_s", "Age of the oldest running one; 0 without."),
    "dead_letters": ("dead_letters", "Sentences given up after three attempts, kept for a week."),
    "api_replicas": ("num_api_replicas", "API processes that reported lately."),
    "redis_memory_bytes": ("redis_memory_bytes", "Memory that Redis uses."),
    "redis_max_memory_bytes": ("redis_max_memory_bytes", "Memory that Redis may use; 0: no limit."),
}  # fmt: skip
_CAPACITY = {
    "arrival_rate": ("arrival_rate_per_s", "Sentences accepted per second (lambda)."),
    "service_rate": ("service_rate_tokens_per_s", "Tokens per second that the workers can compute."),
    "utilization": ("utilization", "Tokens offered per token of the service rate (rho)."),
    "number_in_system": ("number_in_system", "Mean number of accepted, unfinished sentences (L)."),
    "time_in_system_seconds": ("time_in_system_s", "Mean time from acceptance to the end (W)."),
    "littles_law_residual": (
        "residual", "abs(L - lambda W) / L: more than 0.1 in a steady state means lost requests or a broken metric.",
    ),
    "predicted_wait_seconds": ("predicted_wait_s", "Queue time of a sentence that arrives now."),
    "workers_needed": ("workers_needed", "Workers that keep the utilization at 0.8."),
    "queue_bound_tokens": (
        "queue_bound_tokens",
        "Bound of the queue that keeps the worst accepted wait under the deadline, in reserved tokens.",
    ),
}  # fmt: skip
_HEALTH = {
    "failing_ratio": ("failing_share", "Share of the answers of the last 10 s that are 5xx, or missing, 0 to 1."),
    "stuck_seconds": ("stuck_s", "Age of the sentence first in line while live workers answer none; else 0."),
    "queue_time_mean_seconds": (
        "queue_time_s", "Time in the queue of the sentences that ended in the last 10 s, mean.",
    ),
    "leaked_tokens": ("leaked_tokens", "Reserved tokens of KV caches that no running sequence can hold."),
    "api_late_seconds": ("api_late_s", "Time that an event waits for its turn in an API process, mean of 5 s."),
    "redis_evicts": ("redis_evicts", "1 if Redis would delete requests when it is full."),
    "redis_refuses_writes": (
        "redis_refuses_writes", "1 if Redis takes no write, mostly because it cannot save to its disk.",
    ),
    "foreign_workers": ("foreign_workers", "RQ's own workers, which fail each request that they take."),
}  # fmt: skip
_WORKER_GAUGES = {
    "worker_running": ("num_running", "Sequences in its batch."),
    "worker_waiting": ("num_waiting", "Sentences it holds and has not admitted."),
    "worker_slots": ("max_slots", "Sequences it may run at once."),
    "worker_kv_tokens": ("reserved_tokens", "Reserved tokens of its KV cache."),
    "worker_kv_budget_tokens": ("kv_budget_tokens", "Size of its KV cache, in tokens."),
    "worker_tokens_per_second": ("tokens_per_s", "Tokens it computed in the last second."),
}  # fmt: skip
_POOL_GAUGES = {
    "pool_workers": ("num_workers", "Live workers of a role other than all."),
    "pool_utilization": ("utilization", "Sentences offered per sentence that the pool could serve."),
    "pool_workers_needed": ("workers_needed", "Workers that keep the pool's utilization at 0.8."),
}  # fmt: skip


def add(app: Api, services: Services) -> None:
    """Add the route."""

    async def text() -> bytes:
        seen = await services.observer.observe()
        if not services.settings.uses_queue:  # without a queue nobody else adds up what this process counts
            seen = replace(seen, totals={**seen.totals, **services.recorder.totals()})
        return await in_thread(metrics_text, seen, services.settings, pool=PAGES)

    latest, made_s = b"", 0.0

    @app.get("/metrics")
    async def show_metrics(_: Exchange, __: IncomingRequest) -> Reply:
        nonlocal latest, made_s
        if not latest or services.clock() - made_s >= FRESH_FOR_S:
            made_s = services.clock()  # until there is a new page, others get the latest
            try:
                latest = await text()
            except Exception:
                latest = b""
                raise
        return Reply(latest, 200, [("Content-Type", CONTENT_TYPE_PLAIN_0_0_4), ("Content-Length", str(len(latest)))])


def metrics_text(seen: Observed, settings: Settings) -> bytes:
    """The body of GET /metrics."""
    return generate_latest(_Registry(seen, settings))


@dataclass(frozen=True, slots=True)
class _Registry:
    seen: Observed
    settings: Settings

    def collect(self) -> Iterable[Metric]:
        seen, workers = self.seen, self.seen.workers
        yield from _gauges(_GAUGES, [seen])
        yield _gauge("workers", "Live workers: they completed an iteration, or idled, lately.", len(workers))
        budget, reserved = (sum(map(attrgetter(name), workers)) for name in ("kv_budget_tokens", "reserved_tokens"))
        share = reserved / budget if budget else 0.0
        yield _gauge("kv_cache_usage_perc", "Share of the KV caches that is reserved, 0 to 1.", share)
        yield from _gauges(_CAPACITY, [measure(seen, self.settings)])
        yield from _gauges(_HEALTH, [health_of(seen)])
        for name in ("max_queue_requests", "max_queue_tokens"):
            yield _gauge(name, "The queue's bound.", getattr(self.settings, name))
        yield from _gauges(_WORKER_GAUGES, workers, "worker", "name")
        yield from _gauges(_POOL_GAUGES, measure_pools(seen), "role", "role")
        for name, (help, field) in _COUNTERS.items():
            yield CounterMetricFamily(_PREFIX + name, help, seen.totals.get(field, seen.counts.get(field, 0)))
        yield from _labelled_counters(seen.counts, seen.totals)
        for name, help in _TIMES.items():
            yield _histogram(f"{name}_seconds", help, TIME_BUCKETS_S, name, seen.totals)
        for name, help in _SIZES.items():
            yield _histogram(name, help, SIZE_BUCKETS, name, seen.totals)


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(_PREFIX + name, help, value)


def _gauges(
    table: Mapping[str, tuple[str, str]], sources: Iterable[object], label: str = "", named_by: str = ""
) -> Iterable[Metric]:
    """`named_by`: the field that holds the value of the label."""
    for name, (field, help) in table.items():
        family = GaugeMetricFamily(_PREFIX + name, help, labels=[label] if label else [])
        for source in sources:
            family.add_metric([getattr(source, named_by)] if label else [], getattr(source, field))
        yield family


def _labelled_counters(counts: Mapping[str, float], totals: Mapping[str, float]) -> Iterable[Metric]:
    cut = counts.get("done_length", 0)
    done = {"stop": counts.get("done", 0) - cut, "length": cut}
    yield _labelled("request_success", "Sentences answered.", ["finished_reason"], done)
    failures = {kind: counts.get(name, 0) for kind, name in _FAILURES.items()}
    yield _labelled("request_failure", "Sentences accepted and not answered.", ["type"], failures)
    late = {place: counts.get(f"expired_{place}", 0) for place in ("waiting", "running")}
    yield _labelled("deadline_misses", "Sentences whose deadline came before their answer.", ["place"], late)
    refusals = {
        kind: counts.get(_REFUSALS.get(kind, ""), 0) + totals.get(f"{REJECTED}:{kind}", 0)
        for kind in (*_REFUSALS, "not-ready", "shutting-down")
    }
    yield _labelled("admission_rejections", "HTTP requests refused at once.", ["type"], refusals)
    for begin, (name, help, labels) in _OF_PROCESSES.items():
        fields = [field for field in totals if field.partition(":")[0] == begin]
        yield _labelled(name, help, labels, {field.partition(":")[2]: totals[field] for field in fields})


def _labelled(name: str, help: str, labels: Sequence[str], values: Mapping[str, float]) -> Metric:
    """By the values of the labels, with a colon between them."""
    family = CounterMetricFamily(_PREFIX + name, help, labels=labels)
    for value, number in values.items():
        family.add_metric(value.rsplit(":", len(labels) - 1), number)
    return family


def _histogram(name: str, help: str, bounds: Sequence[float], field: str, totals: Mapping[str, float]) -> Metric:
    """Prometheus' buckets hold all that is at most their bound."""
    ends = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    counts = [totals.get(f"{field}:{at}", 0) for at in range(len(ends))]
    buckets = list(zip(ends, accumulate(counts), strict=True))
    return HistogramMetricFamily(_PREFIX + name, help, buckets=buckets, sum_value=totals.get(f"{field}:{SUM}", 0))
