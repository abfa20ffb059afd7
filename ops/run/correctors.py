"""Which corrector the API gets: over the queue, or with the model in its own process; broken, where --break asks.

Called in gunicorn's worker process, so everything is imported there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.settings import Settings

if TYPE_CHECKING:
    from api.service.corrector import Corrector


def make_corrector(settings: Settings) -> Corrector:
    """The corrector of the mode. Raises WeightsError where a model of this process does not fit the tokenizer."""
    from api.server.application import queue_corrector
    from ops.run.faults import broken, fault_of

    settings = broken(settings)
    return fault_of(settings).corrector((queue_corrector if settings.uses_queue else _local_corrector)(settings))


def _local_corrector(settings: Settings) -> Corrector:
    """Modes sync and threaded."""
    from time import monotonic

    from api.grammar.pipeline import TextPipeline
    from api.service.corrector import Corrector
    from worker.engine import new_engine
    from worker.local import LocalEngines
    from worker.model.weights import load_weights

    pipeline = TextPipeline.load(strictness=settings.strictness)
    weights = load_weights(tokenizer_fingerprint=pipeline.tokenizer_fingerprint)
    num_engines = 1 if settings.mode == "sync" else settings.model_threads
    engines = [new_engine(weights, settings, monotonic) for _ in range(num_engines)]
    return Corrector(pipeline, LocalEngines(engines, settings.max_queue_requests), settings)
