"""Which corrector the API gets: over the queue, or with the model in its own process; broken, where --break asks.

Called in gunicorn's worker process, so everything is imported there, after gevent has patched the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.settings import Settings

if TYPE_CHECKING:
    from api.corrector import Corrector


def make_corrector(settings: Settings) -> Corrector:
    """Of the mode that is set. Raises WeightsError where a model of this process does not fit the tokenizer."""
    from api.wsgi import queue_corrector
    from ops.faults import broken, fault_of

    settings = broken(settings)
    corrector = queue_corrector(settings) if settings.uses_queue else _local_corrector(settings)
    return fault_of(settings).corrector(corrector)


def _local_corrector(settings: Settings) -> Corrector:
    from api.agent import Agent
    from api.corrector import QueueCorrector
    from ops.local_model import local_mailbox

    agent = Agent.load()
    return QueueCorrector(agent, local_mailbox(settings, agent.tokenizer_fingerprint), settings)
