"""A worker whose process dies, as if by a fault in a library, whenever it computes for the learner `poison`.

`python -m ops.drills.poisoned_worker`: otherwise the worker that ships, its settings from the environment.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from api.grammar.tokenizer import Tokenizer
from ops.drills.killed_workers import POISON
from scheduler.batching import StepPlan
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine


def poisoned(engine: Engine) -> Engine:
    """Dies between the plan and the forward pass."""
    plan_next = engine.policy.plan

    def plan(now: float) -> StepPlan:
        planned = plan_next(now)
        if POISON in _learners(planned):
            os.kill(os.getpid(), signal.SIGKILL)
        return planned

    engine.policy.plan = plan
    return engine


def _learners(planned: StepPlan) -> Sequence[str | None]:
    return [sequence.delivery.request.learner_id for sequence in planned]


if __name__ == "__main__":
    process.serve(Settings.from_env(os.environ), Tokenizer.load().fingerprint, prepare=poisoned)
