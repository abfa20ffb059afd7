"""The metrics of GET /metrics: what dashboards, rules and documents may name."""

from __future__ import annotations

COUNTERS = frozenset(
    "miniserve_" + name
    for name in (
        "prompt_tokens_total", "generation_tokens_total", "request_success_total", "request_failure_total",
        "requests_accepted_total", "admission_rejections_total", "deferred_for_budget_total", "iterations_total",
        "http_responses_total", "duplicate_answers_total",
    )
)  # fmt: skip
GAUGES = frozenset(
    "miniserve_" + name
    for name in (
        "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "arrival_rate", "service_rate",
        "utilization", "littles_law_residual", "predicted_wait_seconds", "workers_needed", "workers", "api_replicas",
        "queue_depth", "reserved_tokens", "max_queue_requests", "max_queue_tokens", "oldest_waiting_seconds",
        "oldest_running_seconds", "dead_letters", "redis_memory_bytes", "redis_max_memory_bytes", "number_in_system",
        "time_in_system_seconds", "queue_bound_tokens", "worker_running", "worker_waiting", "worker_slots",
        "worker_kv_tokens", "worker_kv_budget_tokens", "worker_tokens_per_second",
    )
)  # fmt: skip
HISTOGRAMS = frozenset(
    "miniserve_" + name
    for name in (
        "time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds",
        "request_queue_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds",
        "iteration_tokens", "batch_size",
    )
)  # fmt: skip
SERIES = COUNTERS | GAUGES | {name + part for name in HISTOGRAMS for part in ("_bucket", "_sum", "_count")}
