"""Costs from measurements: least squares in which no cost is negative, of relative errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ops.plan.costs import StageCost, WorkerCost
from ops.plan.mix import Mix
from scheduler.observations import DECODE_WORK

STAGES = ("api", "redis", "client")


@dataclass(frozen=True, slots=True)
class MeasuredLoad:
    """What one load cost."""

    clients: int
    mix: Mix
    throughput_per_s: float
    p50_s: float
    p95_s: float
    cpu_s: dict[str, float] = field(default_factory=dict)  # by process: for each request
    iterations: dict[str, float] = field(default_factory=dict)  # sums of the worker: for each request

    @property
    def sentences(self) -> float:
        """Of a text."""
        return self.mix.sentences_per_text


def least_squares(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The best of all solutions in which some unknowns are 0 and none is negative, of relative errors.

    With a handful of unknowns all choices can be tried (Lawson & Hanson, Solving Least Squares Problems, 1974, ch. 23).
    """
    weights = 1.0 / np.maximum(targets, 1e-9)
    rows, targets = rows * weights[:, None], targets * weights
    num_unknowns = rows.shape[1]
    best, least = np.zeros(num_unknowns), float(targets @ targets)
    for size in range(1, num_unknowns + 1):
        for free in map(list, combinations(range(num_unknowns), size)):
            found = np.linalg.lstsq(rows[:, free], targets, rcond=None)[0]
            loss = float(np.sum((rows[:, free] @ found - targets) ** 2))
            if found.min() >= 0 and loss < least:
                best, least = np.zeros(num_unknowns), loss
                best[free] = found
    return best


def fit_worker(loads: Sequence[MeasuredLoad]) -> WorkerCost:
    """Of each iteration, and of what it computes."""
    sums = [load.iterations for load in loads]
    rows = [(one["n"], one["prompts"] + DECODE_WORK * (one["outputs"] - one["requests"])) for one in sums]
    targets = [max(1e-6, load.cpu_s["worker"]) for load in loads]
    return WorkerCost(*least_squares(np.array(rows, float), np.array(targets)).tolist())


def fit_stage(name: str, loads: Sequence[MeasuredLoad], wakes: Sequence[float]) -> StageCost:
    """`wakes`: how often the process woke up in each load, for a request."""
    rows = [(woken, 1.0, load.sentences) for woken, load in zip(wakes, loads, strict=True)]
    targets = [max(1e-6, load.cpu_s[name]) for load in loads]
    return StageCost(*least_squares(np.array(rows, float), np.array(targets)).tolist())
