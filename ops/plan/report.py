"""What a size means: its figures, its table, one sentence of advice."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

from ops.plan.service import Deployment
from ops.plan.sizing import MOST_BUSY, Goal, Sizer
from ops.tables import table


def report(sizer: Sizer, goal: Goal) -> dict[str, Any]:
    """JSON-ready; times are seconds. Raises GoalError.

    By stage: `numbers` of processes, `carries`, requests per second that one serves with all its time, and `busy`,
    the offered load over what all of them can serve. `cores` are busy.
    """
    size = sizer.smallest(goal)
    outcome = sizer.outcome(goal.rate_per_s, size)
    carries = {"workers": 1 / sizer.worker_s, "API processes": 1 / sizer.api_s, "Redis": 1 / sizer.redis_s}
    numbers: dict[str, float] = {"workers": size.workers, "API processes": size.replicas, "Redis": 1}
    if isfinite(sizer.cores):
        carries["cores"], numbers["cores"] = 1 / sizer.all_s, sizer.cores
    busy = {stage: goal.rate_per_s / carries[stage] / number for stage, number in numbers.items()}
    cores = outcome.busy["worker"] * size.workers + outcome.busy["api"] * size.replicas + outcome.busy["redis"]
    return {
        "goal": asdict(goal), "size": {"workers": size.workers, "replicas": size.replicas},
        "p50_s": outcome.quantile_s(0.5), "p95_s": outcome.quantile_s(0.95),
        "numbers": numbers, "carries": carries, "busy": busy, "cores": cores, "advice": _advice(goal, size, busy),
    }  # fmt: skip


def _advice(goal: Goal, size: Deployment, busy: dict[str, float]) -> str:
    """One sentence: what to run, and what to grow first."""
    run = f"{size.workers} worker{'s' * (size.workers > 1)} and {size.replicas} API process{'es' * (size.replicas > 1)}"
    sentence = f"Run {run} for {goal.rate_per_s:,g} requests/s"
    first = max(busy, key=lambda name: busy[name])
    if busy[first] < MOST_BUSY:
        at_per_s = MOST_BUSY / busy[first] * goal.rate_per_s
        sentence += f"; the {first} fill first: {MOST_BUSY:.0%} are used at about {at_per_s:,.0f} requests/s"
    return sentence + ("; with one worker, answers pause while it restarts." if size.workers == 1 else ".")


def words_of(found: dict[str, Any]) -> str:
    """For people."""
    stages = [
        (stage, f"{number:,.0f}", f"{found['busy'][stage]:.0%}", f"{found['carries'][stage]:,.0f} requests/s")
        for stage, number in found["numbers"].items()
    ]
    goal, times_ms = found["goal"], [1e3 * found[name] for name in ("p50_s", "p95_s")]
    return (
        f"{goal['rate_per_s']:,g} requests/s, p95 within {1e3 * goal['p95_s']:g} ms\n"
        f"{table(('', '>number', '>used', 'one carries'), stages)}\n"
        f"busy cores: {found['cores']:.1f}\n"
        f"latency: p50 {times_ms[0]:.1f} ms, p95 {times_ms[1]:.1f} ms; often longer in fact\n\n{found['advice']}"
    )
