"""A real worker whose process dies, as if by a fault in a library, whenever it computes for the learner `poison`."""

from __future__ import annotations

import os
import signal
import sys

from api.tokenizer import Tokenizer
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine


def poisoned(engine: Engine) -> Engine:
    step = engine.step

    def dying_step():
        if any(sequence.delivery.request.learner_id == "poison" for sequence in engine.policy._running.values()):
            os.kill(os.getpid(), signal.SIGKILL)
        return step()

    engine.step = dying_step
    return engine


if __name__ == "__main__":
    process.serve(Settings(redis_url=sys.argv[1]), Tokenizer.load().fingerprint, prepare=poisoned)
