"""The worker process: connects the engine to the queue and turns SIGTERM into an orderly stop.

Called by `miniserve worker`, which knows the tokenizer that ships with these weights.
"""

from __future__ import annotations

import gc
import logging
import signal
from collections.abc import Callable
from time import monotonic

from scheduler.settings import Settings
from worker.actor import Actor
from worker.engine import Engine, load_engine
from worker.model.weights import DEFAULT_PATH, digest
from worker.queue.connection import Address
from worker.queue.worker_end import WorkerMailbox

logger = logging.getLogger(__name__)


def serve(
    settings: Settings,
    tokenizer_fingerprint: str,
    prepare: Callable[[Engine], tuple[Engine, type[WorkerMailbox]]],
) -> None:
    """Run until SIGTERM or SIGINT. Raises WeightsError if weights and tokenizer do not belong together.

    `prepare` gets the engine before it serves, and gives back the one that does, and what feeds it.
    """
    engine, end = prepare(load_engine(settings, tokenizer_fingerprint, clock=monotonic))
    logger.info("model loaded", extra={"sha256": digest(DEFAULT_PATH)[:16]})
    mailbox = end(Address(settings.redis_url))
    actor = Actor(engine, mailbox, settings.grace_s)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: actor.stop())
    gc.collect()
    gc.freeze()  # weights and libraries stay: no later collection looks through them
    actor.run()
