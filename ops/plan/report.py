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
        return asdict(self) | {"advice": self.advice()}

    def lines(self) -> list[str]:
        """For people."""
        stages = [
            (stage, f"{number:,.0f}", f"{self.busy[stage]:.0%}", f"{self.carries[stage]:,.0f} requests/s")
            for stage, number in self.numbers.items()
        ]
        return [
            f"{self.goal.rate_per_s:,g} requests/s, p95 within {1e3 * self.goal.p95_s:g} ms",
            table(("", ">number", ">used", "one carries"), stages),
            f"busy cores: {self.cores:.1f}",
            f"latency: p50 {1e3 * self.p50_s:.1f} ms, p95 {1e3 * self.p95_s:.1f} ms; often longer in fact",
            "",
            self.advice(),
        ]

    def advice(self) -> str:
        """One sentence: what to run, and what to grow first."""
        workers, replicas = self.size.workers, self.size.replicas
        run = f"{workers} worker{'s' * (workers > 1)} and {replicas} API process{'es' * (replicas > 1)}"
        sentence = f"Run {run} for {self.goal.rate_per_s:,g} requests/s"
        first = max(self.busy, key=lambda name: self.busy[name])
        spare = MOST_BUSY / max(self.busy[first], 1e-9)
        if spare > 1:
            at_per_s = spare * self.goal.rate_per_s
            sentence += f"; the {first} fill first: {MOST_BUSY:.0%} are used at about {at_per_s:,.0f} requests/s"
        return sentence + ("; with one worker, answers pause while it restarts." if workers == 1 else ".")


def report(sizer: Sizer, goal: Goal) -> Report:
    """Raises GoalError."""
    size = sizer.smallest(goal)
    outcome = sizer.outcome(goal.rate_per_s, size)
    carries = {"workers": 1 / sizer.worker_s, "API processes": 1 / sizer.api_s, "Redis": 1 / sizer.redis_s}
    numbers: dict[str, float] = {"workers": size.workers, "API processes": size.replicas, "Redis": 1}
    if isfinite(sizer.cores):
        carries["cores"], numbers["cores"] = 1 / sizer.all_s, sizer.cores
    busy = {stage: goal.rate_per_s / carries[stage] / number for stage, number in numbers.items()}
    cores = outcome.busy["worker"] * size.workers + outcome.busy["api"] * size.replicas + outcome.busy["redis"]
    return Report(goal, size, outcome.quantile_s(0.5), outcome.quantile_s(0.95), numbers, carries, busy, cores)
