"""The workers of the drills: the one that ships, made slow, or made to die of one sentence.

`python -m ops.drills.workers slow PER_S`: it writes the longest output there is for every sentence, which makes no
edit, and computes so long for each token that it ends PER_S requests in a second of a core. All cost the same.
`python -m ops.drills.workers poisoned`: the process dies, as if by a fault in a library, whenever it computes
`POISON`. Settings come from the environment.
"""

from __future__ import annotations

import os
import signal
import sys
from hashlib import sha256
from time import monotonic, thread_time
from typing import Any

import numpy as np

from api.grammar.tokenizer import Tokenizer
from ops.run.faults import broken, fault_of
from scheduler.batching import StepPlan
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine, policy_for
from worker.model.forward import PackedBatch
from worker.queue.worker_end import WorkerMailbox

POISON = "The poison goed into the river."
_ROWS = 14 + MAX_OUTPUT_TOKENS  # of one request: its prompt, and a decode step for each token of its output
_ANY_ID = 2  # no <eos>
_WORK = bytes(65_536)
_TRIAL_S = 0.3
_COMMAND = (sys.executable, "-m", "ops.drills.workers")
POISONED = (*_COMMAND, "poisoned")


def slow(per_s: float) -> tuple[str, ...]:
    """What starts a worker that ends about so many requests a second in full batches, as busy as the machine is now."""
    begun_s, until_s = monotonic(), thread_time() + _TRIAL_S
    while thread_time() < until_s:
        sha256(_WORK)
    return (*_COMMAND, "slow", str(per_s * (monotonic() - begun_s) / _TRIAL_S))


def slowed(engine: Engine, settings: Settings, per_s: float) -> Engine:
    """CPU time, and not a pause: what the clients and the API take from the engine makes it slower."""
    row_s, forward = 1 / per_s / _ROWS, engine.model.forward

    def forward_slowly(batch: PackedBatch) -> np.ndarray:
        until_s = thread_time() + row_s * len(batch.token_ids)
        logits = forward(batch)
        while thread_time() < until_s:
            sha256(_WORK)  # as BLAS, it lets other threads run
        return logits

    def any_ids(logits: np.ndarray, *_: Any) -> np.ndarray:
        return np.full(len(logits), _ANY_ID)

    vars(engine.model)["forward"], vars(engine._decoder)["next_ids"] = forward_slowly, any_ids
    engine.policy.limits = policy_for(settings, 1 / row_s).limits
    return engine


def poisoned(engine: Engine) -> Engine:
    """Dies between the plan and the forward pass."""
    plan_next, poison_ids = engine.policy.plan, Tokenizer.load().encode(POISON).token_ids

    def plan(now: float) -> StepPlan:
        planned = plan_next(now)
        if any(tuple(sequence.request.prompt_ids) == poison_ids for sequence in planned):
            os.kill(os.getpid(), signal.SIGKILL)
        return planned

    vars(engine.policy)["plan"] = plan
    return engine


def _serve(kind: str, *per_s: str) -> None:
    settings = broken(Settings.from_env(os.environ))

    def prepare(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
        special = slowed(engine, settings, *map(float, per_s)) if kind == "slow" else poisoned(engine)
        return fault_of(settings).worker(special)

    process.serve(settings, Tokenizer.load().fingerprint, prepare)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
