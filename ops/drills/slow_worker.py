"""`python -m ops.drills.slow_worker LAYERS WIDTH`: the worker that ships, with a random model of that shape.

Its settings come from the environment.
"""

from __future__ import annotations

import os
import sys

from api.grammar.tokenizer import Tokenizer
from ops.drills.random_model import SlowShape, random_engine
from ops.run.faults import broken, fault_of
from scheduler.settings import Settings
from worker import process
from worker.self_test import run_self_test


def command(shape: SlowShape) -> tuple[str, ...]:
    """What starts one."""
    return (sys.executable, "-m", "ops.drills.slow_worker", str(shape.num_layers), str(shape.width))


if __name__ == "__main__":
    settings = broken(Settings.from_env(os.environ))
    slow = SlowShape(*map(int, sys.argv[1:3]))
    fingerprint, fault = Tokenizer.load().fingerprint, fault_of(settings)
    process.serve(settings, fingerprint, lambda _: fault.worker(random_engine(slow, settings)), run_self_test)
