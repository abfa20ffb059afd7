"""What a size means: its table, how sensitive it is, one sentence of advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

from ops.plan.sizing import MOST_BUSY, Goal, GoalError, Size, Sizer, slower
from ops.tables import table

_MORE = 1.2
_IDLE_MIB = 8  # of an empty Redis


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One thing is not as planned."""

    what: str
    p95_s: float  # with the planned size; infinite where the queue grows
    needed: Size | None  # to keep the goal; None where no size does


@dataclass(frozen=True, slots=True)
class Report:
    """A plan."""

    goal: Goal
    size: Size
    p50_s: float
    p95_s: float
    carries: dict[str, float]  # requests per second that one process serves with all its time, by stage
    busy: dict[str, float]  # offered load / what all of them can serve, by stage
    cores: float  # that are busy
    redis_commands_per_s: float
    redis_bytes: float
    sensitivity: tuple[Sensitivity, ...]

    def document(self) -> dict[str, Any]:
        """JSON-ready: what is infinite is null."""
        found = asdict(self)
        for one in found["sensitivity"]:
            one["p95_s"] = one["p95_s"] if isfinite(one["p95_s"]) else None
        return found | {"advice": advice(self)}


def report(sizer: Sizer, goal: Goal) -> Report:
    """Raises GoalError."""
    size = sizer.smallest(goal)
    outcome = sizer.outcome(goal.rate_per_s, size)
    rate_per_s, costs = goal.rate_per_s, sizer.costs
    carries = {"workers": 1 / sizer.worker_s, "API processes": 1 / sizer.api_s, "Redis": 1 / sizer.redis_s}
    numbers = {"workers": size.workers, "API processes": size.replicas, "Redis": 1}
    if isfinite(sizer.cores):
        carries["cores"], numbers["cores"] = 1 / sizer.all_s, sizer.cores
    busy = {stage: rate_per_s / carries[stage] / number for stage, number in numbers.items()}
    commands = rate_per_s * sizer.mix.sentences_per_text * costs.redis_use.commands_busy
    open_requests = rate_per_s * outcome.mean_s
    kept = costs.redis_use.kept_bytes * (rate_per_s * costs.result_ttl_s + open_requests)
    number = {"worker": size.workers, "api": size.replicas, "redis": 1}
    cores = sum(outcome.busy[name] * number[name] for name in number)
    p50_s, p95_s = outcome.quantile_s(0.5), outcome.quantile_s(0.95)
    sensitive = tuple(_sensitivity(sizer, goal, size))
    return Report(goal, size, p50_s, p95_s, carries, busy, cores, commands, kept + _IDLE_MIB * 2**20, sensitive)


def _sensitivity(sizer: Sizer, goal: Goal, size: Size) -> Sequence[Sensitivity]:
    more = replace(goal, rate_per_s=_MORE * goal.rate_per_s)
    longer = replace(sizer, mix=sizer.mix.longer(_MORE), _known={})
    late = replace(sizer, costs=slower(sizer.costs, _MORE), _known={})
    found = [
        _case("20 % more requests", sizer, more, size),
        _case("sentences and answers 20 % longer", longer, goal, size),
        _case("machines 20 % slower", late, goal, size),
    ]
    if size.workers > 1:
        less = replace(size, workers=size.workers - 1)
        found.append(Sensitivity("one worker less", sizer.p95_s(goal.rate_per_s, less), size))
    return found


def _case(what: str, sizer: Sizer, goal: Goal, size: Size) -> Sensitivity:
    try:
        needed = sizer.smallest(goal)
    except GoalError:
        needed = None
    return Sensitivity(what, sizer.p95_s(goal.rate_per_s, size), needed)


def lines(found: Report) -> list[str]:
    """For people."""
    numbers = {"workers": found.size.workers, "API processes": found.size.replicas, "Redis": 1}
    if "cores" in found.busy:
        numbers["cores"] = round(found.goal.rate_per_s / found.carries["cores"] / found.busy["cores"])
    stages = [
        (stage, number, f"{found.busy[stage]:.0%}", f"{found.carries[stage]:,.0f} requests/s")
        for stage, number in numbers.items()
    ]
    cases = [
        (one.what, f"{1e3 * one.p95_s:.1f}" if isfinite(one.p95_s) else "grows",
         named(one.needed) if one.needed else "no size with one Redis keeps the goal")
        for one in found.sensitivity
    ]  # fmt: skip
    return [
        f"{found.goal.rate_per_s:,g} requests/s, p95 within {1e3 * found.goal.p95_s:g} ms",
        table(("", ">number", ">used", "one carries"), stages),
        f"of Redis: {found.redis_commands_per_s:,.0f} commands/s, {found.redis_bytes / 2**20:,.0f} MiB",
        f"busy cores: {found.cores:.1f}",
        f"latency: p50 {1e3 * found.p50_s:.1f} ms, p95 {1e3 * found.p95_s:.1f} ms; often longer in fact",
        "",
        table(("if", ">p95 ms", "needed"), cases),
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
