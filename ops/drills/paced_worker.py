"""`python -m ops.drills.paced_worker MS`: the worker that ships, whose iterations take so long that it mostly waits.

What it can do is set by that and by its slots, and not by the cores of the machine: several of them side by side do as
much as on several machines. Its settings come from the environment.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from time import monotonic, sleep

from api.grammar.tokenizer import Tokenizer
from scheduler.messages import Completion
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine
from worker.mailbox.worker_end import RedisWorkerMailbox
from worker.model.self_test import run_self_test


def command(iteration_ms: float) -> tuple[str, ...]:
    """What starts one."""
    return (sys.executable, "-m", "ops.drills.paced_worker", f"{iteration_ms:g}")


def _paced(iteration_s: float, engine: Engine) -> tuple[Engine, type[RedisWorkerMailbox]]:
    step = engine.step

    def step_late() -> list[Completion]:
        began_s = monotonic()
        ended = step()
        sleep(max(0.0, began_s + iteration_s - monotonic()))
        return ended

    engine.step = step_late
    return engine, RedisWorkerMailbox


if __name__ == "__main__":
    prepare = partial(_paced, float(sys.argv[1]) / 1e3)
    process.serve(Settings.from_env(os.environ), Tokenizer.load().fingerprint, prepare, run_self_test)
