"""The worker process: connects the engine to the queue and turns SIGTERM into an orderly stop.

Called by `miniserve worker`, which knows the tokenizer that ships beside these weights.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import structlog

from scheduler.settings import Settings
from worker.actor import Actor
from worker.engine import Engine, load_engine
from worker.mailbox.connection import connect
from worker.mailbox.worker_end import RedisWorkerMailbox
from worker.model.self_test import BatchInvariance, check_batch_invariance
from worker.observer import EngineObserver

if TYPE_CHECKING:
    from scheduler.spans import SpanSink

_LAST_SPANS_S = 1.0
logger = structlog.get_logger(__name__)


def serve(
    settings: Settings,
    tokenizer_fingerprint: str,
    prepare: Callable[[Engine], Engine],
    spans: SpanSink | None = None,
) -> None:
    """Run until SIGTERM or SIGINT. Raises WeightsError if weights and tokenizer do not belong together.

    `prepare` gets the engine before it serves, and gives back the one that does.
    """
    engine = prepare(load_engine(settings, tokenizer_fingerprint, clock=monotonic))
    self_test = check_batch_invariance(engine.model.weights)
    engine.observer = EngineObserver(settings.traces == "on", spans)
    if spans is not None:
        Thread(target=spans.run, name="spans", daemon=True).start()
    mailbox = RedisWorkerMailbox(connect(settings.redis_url), batch_invariance=self_test.invariance)
    actor = Actor(engine, mailbox, settings.grace_s)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: actor.stop())
    logger.info("model loaded", weights=engine.model.weights.fingerprint)
    found = {"batch_invariance": self_test.invariance.value, "differing_sizes": self_test.differing_sizes or None}
    log = logger.error if self_test.invariance is BatchInvariance.TOKENS_DIFFER else logger.info
    log("self-test: the same sentence alone and in batches", **{key: value for key, value in found.items() if value})
    gc.collect()
    gc.freeze()  # weights and libraries stay: no later collection looks through them
    actor.run()
    give_up_s = monotonic() + _LAST_SPANS_S
    while spans is not None and spans.has_spans and monotonic() < give_up_s:
        sleep(0.02)
