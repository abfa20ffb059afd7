"""Costs from measurements: least squares in which no cost is negative, of relative errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ops.plan.costs import ForwardCost, StageCost
from ops.plan.mix import Mix

STAGES = ("api", "redis", "client")
# One that the engine computed: prompts, their tokens, decodes, cached tokens that these read, and seconds of CPU.
Iteration = tuple[int, int, int, int, float]


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


def fit_forward(iterations: Sequence[Iteration]) -> ForwardCost:
    """What an iteration costs by what it computes."""
    measured = np.array(iterations, float)
    rows = np.column_stack([np.ones(len(measured)), measured[:, :-1]])
    return ForwardCost(*least_squares(rows, measured[:, -1]).tolist())


def fit_worker(forward: ForwardCost, loads: Sequence[MeasuredLoad]) -> StageCost:
    """What a worker does besides the forward pass: for each iteration, and for each sentence."""
    rows, targets = [], []
    for load in loads:
        rows.append((load.iterations["n"], load.sentences))
        targets.append(max(1e-6, load.cpu_s["worker"] - forward_s(forward, load)))
    exchange_s, sentence_s = least_squares(np.array(rows, float), np.array(targets)).tolist()
    return StageCost(exchange_s, 0.0, sentence_s)


def forward_s(forward: ForwardCost, load: MeasuredLoad) -> float:
    """Of a request's sentences: what their share of the iterations costs."""
    sums = load.iterations
    sentences = max(1e-9, sums["requests"])
    steps = sums["outputs"] - sums["requests"]
    # A step attends to the prompt and, on average, to half of the answer.
    context = steps * (sums["prompts"] + sums["outputs"] / 2) / sentences
    each = forward.seconds(sums["requests"], sums["prompts"], steps, context)
    return each + forward.fixed_s * (sums["n"] - 1)


def fit_stage(name: str, loads: Sequence[MeasuredLoad], wakes: Sequence[float]) -> StageCost:
    """`wakes`: how often the process woke up in each load, for a request."""
    rows = [(woken, 1.0, load.sentences) for woken, load in zip(wakes, loads, strict=True)]
    targets = [max(1e-6, load.cpu_s[name]) for load in loads]
    return StageCost(*least_squares(np.array(rows, float), np.array(targets)).tolist())
