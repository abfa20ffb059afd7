"""Costs from measurements: least squares in which no cost is negative, of relative errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """Two unknowns, of which none is negative: the best by relative errors, with one of them 0 if need be."""
    rows = rows / np.maximum(targets, 1e-9)[:, None]
    found = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    if found.min() >= 0:
        return found
    alone = np.diag(rows.sum(axis=0) / np.maximum((rows**2).sum(axis=0), 1e-30))
    return alone[np.argmin(((rows @ alone.T - 1) ** 2).sum(axis=0))]


def fit_worker(loads: Sequence[MeasuredLoad]) -> WorkerCost:
    """Of each iteration, and of what it computes."""
    sums = [load.iterations for load in loads]
    rows = [(one["n"], one["prompts"] + DECODE_WORK * (one["outputs"] - one["requests"])) for one in sums]
    targets = [max(1e-6, load.cpu_s["worker"]) for load in loads]
    return WorkerCost(*least_squares(np.array(rows, float), np.array(targets)).tolist())


def fit_stage(name: str, loads: Sequence[MeasuredLoad]) -> StageCost:
    """Of each request, and of each of its sentences."""
    rows, targets = [(1.0, load.sentences) for load in loads], [max(1e-6, load.cpu_s[name]) for load in loads]
    return StageCost(*least_squares(np.array(rows), np.array(targets)).tolist())
