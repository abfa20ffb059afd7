"""What a size means: its table, one sentence of advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ops.plan.sizing import MOST_BUSY, Goal, Size, Sizer
from ops.tables import table


@dataclass(frozen=True, slots=True)
class Report:
    """A plan."""

    goal: Goal
    size: Size
    p50_s: float
    p95_s: float
    numbers: dict[str, float]  # of processes, by stage
    carries: dict[str, float]  # requests per second that one process serves with all its time, by stage
    busy: dict[str, float]  # offered load / what all of them can serve, by stage
    cores: float  # that are busy

    def document(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {"advice": advice(self)}


def report(sizer: Sizer, goal: Goal) -> Report:
    """Raises GoalError."""
    size = sizer.smallest(goal)
    outcome = sizer.outcome(goal.rate_per_s, size)
    rate_per_s = goal.rate_per_s
    carries = {"workers": 1 / sizer.worker_s, "API processes": 1 / sizer.api_s, "Redis": 1 / sizer.redis_s}
    numbers: dict[str, float] = {"workers": size.workers, "API processes": size.replicas, "Redis": 1}
    if isfinite(sizer.cores):
        carries["cores"], numbers["cores"] = 1 / sizer.all_s, sizer.cores
    busy = {stage: rate_per_s / carries[stage] / number for stage, number in numbers.items()}
    cores = outcome.busy["worker"] * size.workers + outcome.busy["api"] * size.replicas + outcome.busy["redis"]
    p50_s, p95_s = outcome.quantile_s(0.5), outcome.quantile_s(0.95)
    return Report(goal, size, p50_s, p95_s, numbers, carries, busy, cores)


def lines(found: Report) -> list[str]:
    """For people."""
    stages = [
        (stage, f"{number:,.0f}", f"{found.busy[stage]:.0%}", f"{found.carries[stage]:,.0f} requests/s")
        for stage, number in found.numbers.items()
    ]
    return [
        f"{found.goal.rate_per_s:,g} requests/s, p95 within {1e3 * found.goal.p95_s:g} ms",
        table(("", ">number", ">used", "one carries"), stages),
        f"busy cores: {found.cores:.1f}",
        f"latency: p50 {1e3 * found.p50_s:.1f} ms, p95 {1e3 * found.p95_s:.1f} ms; often longer in fact",
        "",
        advice(found),
    ]


def named(size: Size) -> str:
    """In words."""
    return f"{_several(size.workers, 'worker')} and {_several(size.replicas, 'API process', 'es')}"


def _several(number: int, what: str, plural: str = "s") -> str:
    return f"{number} {what}{plural if number != 1 else ''}"


def advice(found: Report) -> str:
    """One sentence: what to run, and what to grow first."""
    first = max(found.busy, key=lambda name: found.busy[name])
    spare = MOST_BUSY / max(found.busy[first], 1e-9)
    sentence = f"Run {named(found.size)} for {found.goal.rate_per_s:,g} requests/s"
    if spare > 1:
        at_per_s = spare * found.goal.rate_per_s
        sentence += f"; the {first} fill first: {100 * MOST_BUSY:.0f}% are used at about {at_per_s:,.0f} requests/s"
    if found.size.workers == 1:
        sentence += "; with one worker, answers pause while it restarts"
    return sentence + "."
