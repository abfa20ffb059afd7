"""A worker whose process dies, as if by a fault in a library, whenever it computes a certain sentence.

`python -m ops.drills.poisoned_worker`: otherwise the worker that ships, its settings from the environment.
"""

from __future__ import annotations

import os
import signal

from api.grammar.tokenizer import Tokenizer
from ops.drills.killed_workers import POISON
from scheduler.batching import StepPlan
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine
from worker.queue.worker_end import WorkerMailbox
from worker.self_test import run_self_test

TOKENIZER = Tokenizer.load()
POISON_IDS = TOKENIZER.encode(POISON).token_ids


def poisoned(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """Dies between the plan and the forward pass."""
    plan_next = engine.policy.plan

    def plan(now: float) -> StepPlan:
        planned = plan_next(now)
        if any(tuple(sequence.request.prompt_ids) == POISON_IDS for sequence in planned):
            os.kill(os.getpid(), signal.SIGKILL)
        return planned

    engine.policy.plan = plan
    return engine, WorkerMailbox


if __name__ == "__main__":
    process.serve(Settings.from_env(os.environ), TOKENIZER.fingerprint, prepare=poisoned, self_test=run_self_test)
