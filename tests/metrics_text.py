"""An answer of /metrics, written by hand: what a system of two workers tells that was under one steady load."""

from __future__ import annotations

BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_HISTOGRAMS = (
    "time_to_first_token", "inter_token_latency", "e2e_request_latency", "request_queue_time",
)  # fmt: skip
GAUGES = {
    "workers": 2, "api_replicas": 3, "queue_depth": 12, "num_requests_running": 41, "num_requests_waiting": 15,
    "reserved_tokens": 5120, "max_queue_requests": 2048, "max_queue_tokens": 131_072, "oldest_waiting_seconds": 0.412,
    "oldest_running_seconds": 0.22, "dead_letters": 0, "number_in_system": 56.1, "time_in_system_seconds": 0.235,
    "arrival_rate": 238.4, "littles_law_residual": 0.004, "service_rate": 9120, "utilization": 0.73,
    "predicted_wait_seconds": 0.048, "workers_needed": 2, "queue_bound_tokens": 90_000,
}  # fmt: skip
_WORKER = {"running": 20, "waiting": 2, "slots": 256, "kv_tokens": 1500, "kv_budget_tokens": 4096}
_COUNTERS_PER_S = {
    "requests_accepted_total": 238, "prompt_tokens_total": 3000, "generation_tokens_total": 2400,
    'request_success_total{finished_reason="stop"}': 230, 'request_failure_total{type="cancelled"}': 0,
    'admission_rejections_total{type="queue-full"}': 12, 'admission_rejections_total{type="not-ready"}': 3,
}  # fmt: skip


def metrics_text(age_s: float, num_workers: int = 2, without: str = "no such name", **gauges: float) -> str:
    """Of a system of that age. `gauges` are others than usual; the lines that hold `without` are left out."""
    lines = [f"{name} {float(value)}" for name, value in ({**GAUGES, "workers": num_workers} | gauges).items()]
    for number in range(num_workers):
        figures = {**_WORKER, "tokens_per_second": 4100 + number}
        lines += [f'worker_{name}{{worker="worker-{number}"}} {value}' for name, value in figures.items()]
    lines += [f"{name} {per_s * age_s}" for name, per_s in _COUNTERS_PER_S.items()]
    for name in _HISTOGRAMS:
        lines += _histogram(f"{name}_seconds", age_s)
    return "".join(f"miniserve_{line}\n" for line in lines if without not in line)


def _histogram(name: str, age_s: float) -> list[str]:
    """Each second: 50 values up to 50 ms, 49 more up to 100 ms, one up to 200 ms, 0.06 on average."""
    below = {0.05: 50, 0.1: 99, 0.2: 100}
    lines, num = [], 0
    for bound in BOUNDS_S:
        num = below.get(bound, num)
        lines.append(f'{name}_bucket{{le="{bound}"}} {num * age_s}')
    return [
        *lines,
        f'{name}_bucket{{le="+Inf"}} {100 * age_s}',
        f"{name}_sum {6 * age_s}",
        f"{name}_count {100 * age_s}",
    ]
