"""What a worker process of one pool has instead of the engine and the end of the mailbox of others."""

from __future__ import annotations

from time import monotonic

from worker.engine import Engine
from worker.mailbox.worker_end import WorkerMailbox
from worker.pools.decode import DecodeEnd, DecodeEngine
from worker.pools.prefill import PrefillEnd, PrefillEngine


def prefill(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """For `worker.process.serve`."""
    return PrefillEngine(engine, monotonic), PrefillEnd


def decode(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """For the same."""
    return DecodeEngine(engine, monotonic), DecodeEnd
