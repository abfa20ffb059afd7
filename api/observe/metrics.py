"""GET /metrics: the whole system in the Prometheus text format, the same from every replica.

Names after vLLM's, so that boards carry over. What a number means is said here once, in its help text; the tables name
where it comes from. Nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from api.telemetry.recorder import DROPPED, E2E, HTTP, KEY, KEY_TOKENS, REJECTED
from scheduler.capacity.health import Health, health_of
from scheduler.capacity.measure import Capacity, Pool, goals_of, measure, measure_pools
from scheduler.capacity.observed import Observed, WorkerFacts
from scheduler.capacity.stages import Stage, Stages, stages_of
from scheduler.observations import SIZE_BUCKETS, SUM, TIME_BUCKETS_S
from scheduler.settings import Settings

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
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
_FAILURES = {  # by type: how the queue counts it
    "request-failed": "failed", "cancelled": "cancelled", "deadline-exceeded": "expired",
    "removed-by-operator": "removed",
}  # fmt: skip
_REFUSALS = {"queue-full": "refused_full", "rate-limited": "refused_share", "deadline-exceeded": "refused_late"}

_GAUGES: dict[str, tuple[str, Callable[[Observed], float]]] = {
    "num_requests_running": ("Sentences in the batches of the workers.", lambda seen: seen.num_running),
    "num_requests_waiting": ("Sentences in the queue, or held by workers.", lambda seen: seen.num_waiting),
    "kv_cache_usage_perc": ("Share of the KV caches that is reserved, 0 to 1.", lambda seen: _kv_usage(seen.workers)),
    "queue_depth": ("Sentences in the Redis list.", lambda seen: seen.queue_depth),
    "reserved_tokens": ("Tokens reserved by all accepted, unfinished sentences.", lambda seen: seen.reserved_tokens),
    "oldest_waiting_seconds": ("Age of the sentence first in line; 0 without.", lambda seen: seen.oldest_waiting_s),
    "oldest_running_seconds": ("Age of the oldest running one; 0 without.", lambda seen: seen.oldest_running_s),
    "dead_letters": ("Sentences given up after three attempts, kept for a week.", lambda seen: seen.dead_letters),
    "workers": ("Live workers: they completed an iteration, or idled, lately.", lambda seen: len(seen.workers)),
    "api_replicas": ("API processes that reported lately.", lambda seen: seen.num_api_replicas),
    "redis_memory_bytes": ("Memory that Redis uses.", lambda seen: seen.redis_memory_bytes),
    "redis_max_memory_bytes": ("Memory that Redis may use; 0: no limit.", lambda seen: seen.redis_max_memory_bytes),
}  # fmt: skip
_CAPACITY: dict[str, tuple[str, Callable[[Capacity], float]]] = {
    "arrival_rate": ("Sentences accepted per second (lambda).", lambda found: found.arrival_rate_per_s),
    "service_rate": ("Tokens per second that the workers can compute.", lambda found: found.service_rate_tokens_per_s),
    "utilization": ("Tokens offered per token of the service rate (rho).", lambda found: found.utilization),
    "number_in_system": ("Mean number of accepted, unfinished sentences (L).", lambda found: found.number_in_system),
    "time_in_system_seconds": ("Mean time from acceptance to the end (W).", lambda found: found.time_in_system_s),
    "littles_law_residual": ("abs(L - lambda W) / L: more than 0.1 in a steady state means lost requests or a broken "
                             "metric.", lambda found: found.residual),
    "predicted_wait_seconds": ("Queue time of a sentence that arrives now.", lambda found: found.predicted_wait_s),
    "workers_needed": ("Workers that keep the wait under the SLO.", lambda found: found.workers_needed),
    "queue_bound_tokens": ("Bound of the queue that keeps the worst accepted wait under the deadline, in reserved "
                           "tokens.", lambda found: found.queue_bound_tokens),
}  # fmt: skip
_HEALTH: dict[str, tuple[str, Callable[[Health], float]]] = {
    "failing_ratio": ("Share of the answers of the last 10 s that are 5xx, or missing, 0 to 1.",
                      lambda found: found.failing_share),
    "stuck_seconds": ("Age of the sentence first in line while live workers answer none; else 0.",
                      lambda found: found.stuck_s),
    "queue_time_mean_seconds": ("Time in the queue of the sentences that ended in the last 10 s, mean.",
                                lambda found: found.queue_time_s),
    "leaked_tokens": ("Reserved tokens of KV caches that no running sequence can hold.",
                      lambda found: found.leaked_tokens),
    "api_late_seconds": ("Time that an event waits for its turn in an API process, mean of 5 s.",
                         lambda found: found.api_late_s),
    "redis_evicts": ("1 if Redis would delete requests when it is full.", lambda found: found.redis_evicts),
    "redis_refuses_writes": ("1 if Redis takes no write, mostly because it cannot save to its disk.",
                             lambda found: found.redis_refuses_writes),
    "foreign_workers": ("RQ's own workers, which fail each request that they take.",
                        lambda found: found.foreign_workers),
}  # fmt: skip
_STAGE_GAUGES: dict[str, tuple[str, Callable[[Stage], float]]] = {
    "stage_rate": ("Sentences per second that pass the stage (lambda), last 10 s.", lambda stage: stage.rate_per_s),
    "stage_number": ("Mean number of sentences in the stage (L), last 10 s.", lambda stage: stage.number),
    "stage_time_seconds": ("Mean time in the stage (W), last 10 s.", lambda stage: stage.time_s),
    "stage_utilization": ("Share of its pool that the stage takes (rho); those of a pool add up.",
                          lambda stage: stage.utilization),
    "stage_predicted_wait_seconds": ("Wait of a sentence that comes to the stage now, before it is served.",
                                     lambda stage: stage.predicted_wait_s),
}  # fmt: skip
_STAGES: dict[str, tuple[str, Callable[[Stages], float]]] = {
    "stages_time_seconds": ("Mean time to answer a sentence by the clock of the API alone, last 10 s.",
                            lambda found: found.whole_s),
    "stages_residual": ("abs(sum of the stages' W - that time) / that time.", lambda found: found.residual),
}  # fmt: skip
_WORKER_GAUGES: dict[str, tuple[str, Callable[[WorkerFacts], float]]] = {
    "worker_running": ("Sequences in its batch.", lambda worker: worker.num_running),
    "worker_waiting": ("Sentences it holds and has not admitted.", lambda worker: worker.num_waiting),
    "worker_slots": ("Sequences it may run at once.", lambda worker: worker.max_slots),
    "worker_kv_tokens": ("Reserved tokens of its KV cache.", lambda worker: worker.reserved_tokens),
    "worker_kv_budget_tokens": ("Size of its KV cache, in tokens.", lambda worker: worker.kv_budget_tokens),
    "worker_tokens_per_second": ("Tokens it computed in the last second.", lambda worker: worker.tokens_per_s),
}
_POOL_GAUGES: dict[str, tuple[str, Callable[[Pool], float]]] = {
    "pool_workers": ("Live workers of a role other than all.", lambda pool: pool.num_workers),
    "pool_utilization": ("Sentences offered per sentence that the pool could serve.", lambda pool: pool.utilization),
    "pool_workers_needed": ("Workers that keep the pool's utilization at 0.8.", lambda pool: pool.workers_needed),
}


def metrics_text(seen: Observed, settings: Settings) -> bytes:
    """The body of GET /metrics."""
    return generate_latest(_Registry(seen, settings))


class _Registry:
    def __init__(self, seen: Observed, settings: Settings) -> None:
        self._seen, self._settings = seen, settings

    def collect(self) -> Iterable[Metric]:
        seen, settings = self._seen, self._settings
        yield from _gauges(_GAUGES, seen)
        capacity = measure(seen, goals_of(settings))
        yield from _gauges(_CAPACITY, capacity)
        yield from _gauges(_HEALTH, health_of(seen))
        for name in ("max_queue_requests", "max_queue_tokens"):
            yield GaugeMetricFamily(_PREFIX + name, "The queue's bound.", getattr(settings, name))
        yield from _labelled_gauges(_WORKER_GAUGES, "worker", {worker.name: worker for worker in seen.workers})
        pools = measure_pools(seen, goals_of(settings))
        yield from _labelled_gauges(_POOL_GAUGES, "role", {pool.role: pool for pool in pools})
        yield from _stages(stages_of(seen, capacity, pools))
        for name, (help, field) in _COUNTERS.items():
            yield CounterMetricFamily(_PREFIX + name, help, seen.totals.get(field, seen.counts.get(field, 0)))
        yield from _labelled_counters(seen.counts, seen.totals)
        for name, help in _TIMES.items():
            yield _histogram(f"{name}_seconds", help, TIME_BUCKETS_S, name, seen.totals)
        for name, help in _SIZES.items():
            yield _histogram(name, help, SIZE_BUCKETS, name, seen.totals)


def _gauges(table: Mapping[str, tuple[str, Callable[[Any], float]]], source: object) -> Iterable[Metric]:
    for name, (help, of) in table.items():
        yield GaugeMetricFamily(_PREFIX + name, help, of(source))


def _labelled_gauges(
    table: Mapping[str, tuple[str, Callable[[Any], float]]], label: str, sources: Mapping[str, object]
) -> Iterable[Metric]:
    for name, (help, of) in table.items():
        family = GaugeMetricFamily(_PREFIX + name, help, labels=[label])
        for value, source in sources.items():
            family.add_metric([value], of(source))
        yield family


def _stages(found: Stages) -> Iterable[Metric]:
    yield from _gauges(_STAGES, found)
    for name, (help, of) in _STAGE_GAUGES.items():
        family = GaugeMetricFamily(_PREFIX + name, help, labels=["stage", "pool"])
        for stage in found.each:
            family.add_metric([stage.name, stage.pool], of(stage))
        yield family


def _kv_usage(workers: tuple[WorkerFacts, ...]) -> float:
    budget = sum(worker.kv_budget_tokens for worker in workers)
    return sum(worker.reserved_tokens for worker in workers) / budget if budget else 0.0


def _labelled_counters(counts: Mapping[str, float], totals: Mapping[str, float]) -> Iterable[Metric]:
    cut = counts.get("done_length", 0)
    done = {"stop": counts.get("done", 0) - cut, "length": cut}
    yield _labelled("request_success", "Sentences answered.", "finished_reason", done)
    failures = {kind: counts.get(name, 0) for kind, name in _FAILURES.items()}
    yield _labelled("request_failure", "Sentences accepted and not answered.", "type", failures)
    late = {place: counts.get(f"expired_{place}", 0) for place in ("waiting", "running")}
    yield _labelled("deadline_misses", "Sentences whose deadline came before their answer.", "place", late)
    refusals = {
        kind: counts.get(_REFUSALS.get(kind, ""), 0) + totals.get(f"{REJECTED}:{kind}", 0)
        for kind in (*_REFUSALS, "not-ready", "shutting-down")
    }
    yield _labelled("admission_rejections", "HTTP requests refused at once.", "type", refusals)
    responses = CounterMetricFamily(
        _PREFIX + "http_responses",
        "HTTP responses, but those to probes.",
        labels=("route", "status"),
    )
    of_keys = CounterMetricFamily(
        _PREFIX + "key_responses", "HTTP responses by the name of the API key.", labels=("key", "status")
    )
    tokens = CounterMetricFamily(_PREFIX + "key_tokens", "Tokens read and generated for a key.", labels=["key"])
    families = {HTTP: responses, KEY: of_keys, KEY_TOKENS: tokens}
    for name, number in totals.items():
        kind, _, label = name.partition(":")
        if kind in families:
            families[kind].add_metric(label.rsplit(":", 1) if kind != KEY_TOKENS else [label], number)
    yield from families.values()


def _labelled(name: str, help: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, help, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _histogram(name: str, help: str, bounds: Sequence[float], field: str, totals: Mapping[str, float]) -> Metric:
    """Prometheus' buckets hold all that is at most their bound."""
    ends = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    counts = [totals.get(f"{field}:{at}", 0) for at in range(len(ends))]
    buckets = list(zip(ends, accumulate(counts), strict=True))
    return HistogramMetricFamily(_PREFIX + name, help, buckets=buckets, sum_value=totals.get(f"{field}:{SUM}", 0))
