"""A machine whose costs are known, for the tests of the calculation."""

from __future__ import annotations

from ops.plan.costs import Calibration, StageCost, WorkerCost
from ops.plan.mix import Mix, SentenceSize

COSTS = Calibration(
    version=2,
    machine="a machine of the tests",
    commit="none",
    date="2026-11-24 00:00 UTC",
    worker=WorkerCost(410e-6, 10e-6),
    api=StageCost(150e-6, 80e-6),
    redis=StageCost(40e-6, 50e-6),
    hop_s=20e-6,
)
SENTENCES = Mix(tuple((SentenceSize(8 + number % 13, 1 + 3 * (number % 4)),) for number in range(60)))
TEXTS = Mix(tuple(sum(SENTENCES.texts[at : at + 4], ()) for at in range(0, 60, 4)))
