"""Faults to learn from: `miniserve up --break N` turns that of an exercise on, in a server otherwise as it ships.

All of them are here, so that nobody has to edit code and no other module knows of them. Off by default, and loudly
announced, by number alone: what is broken is for the reader of docs/exercises/ to find.
"""

from __future__ import annotations

import heapq
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Delivery
from scheduler.settings import Settings

if TYPE_CHECKING:
    from api.service.corrector import Corrector
    from worker.engine import Engine
    from worker.queue.worker_end import WorkerMailbox

logger = logging.getLogger(__name__)

_BLOCKED_S = 0.02  # a slow look-up somewhere else, say
_HEADS = 200
_LEAK_EVERY = 10
_UNLIMITED_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Fault:
    """How it gets into a server."""

    settings: Callable[[Settings], Settings] = lambda settings: settings
    engine: Callable[[Engine], Engine] = lambda engine: engine
    corrector: Callable[[Corrector], Corrector] = lambda corrector: corrector

    def worker(self, engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
        """For `worker.process.serve`."""
        from worker.queue.worker_end import WorkerMailbox

        return self.engine(engine), WorkerMailbox


def fault_of(settings: Settings) -> Fault:
    """Return the fault of these settings; one that changes nothing if none is set."""
    return FAULTS.get(settings.break_, Fault())


def broken(settings: Settings) -> Settings:
    """Change the settings as the fault does, and log it: the variable may be set where no `up` announces it."""
    if settings.break_:
        logger.warning("to learn from, not to serve", extra={"option": f"--break {settings.break_}"})
    return fault_of(settings).settings(settings)


def _block(corrector: Corrector) -> Corrector:
    """Waits with the whole event loop before each request."""
    make_ready = corrector.make_ready

    def make_ready_late(*request: Any) -> None:
        time.sleep(_BLOCKED_S)
        make_ready(*request)

    vars(corrector)["make_ready"] = make_ready_late
    return corrector


class LeakyBatching(ContinuousBatching):
    """Forgets to give back the slot and the tokens of every tenth sequence."""

    num_retired = 0

    def due_in_s(self, now: float) -> float | None:
        """Nothing to compute once nobody fits any more, although the batch is empty."""
        return None if not self.running and self._is_stuck() else super().due_in_s(now)

    def _is_stuck(self) -> bool:
        first = next(iter(self.waiting.values()), None)
        room = self.limits.kv_budget_tokens - self.reserved_tokens
        return first is not None and (not self._free_slots or first.reserved_tokens > room)

    def _retire(self, sequence: Delivery) -> None:
        super()._retire(sequence)
        self.num_retired += 1
        if self.num_retired % _LEAK_EVERY == 0:
            self._free_slots.remove(sequence.slot)
            heapq.heapify(self._free_slots)
            self.reserved_tokens += sequence.reserved_tokens


def _continuous(settings: Settings) -> Settings:
    return replace(settings, mode="continuous")


def _leak(engine: Engine) -> Engine:
    engine.policy = LeakyBatching(engine.policy.limits)
    return engine


def _count_heads(engine: Engine) -> Engine:
    engine.policy = ContinuousBatching(
        BatchLimits(_UNLIMITED_TOKENS, min(_HEADS, engine.policy.limits.max_slots), _UNLIMITED_TOKENS)
    )
    return engine


FAULTS = {
    # The worker runs one request at a time.
    1: Fault(settings=lambda settings: replace(settings, max_slots=1)),
    # Every request blocks the whole API process for a while.
    2: Fault(corrector=_block),
    # Static batches wait half a second to be full.
    3: Fault(lambda settings: replace(settings, mode="static", max_batch=64, max_wait_ms=500.0)),
    # The queue refuses nothing.
    4: Fault(lambda settings: replace(settings, max_queue_requests=1_000_000, max_queue_tokens=100_000_000)),
    # Requests are admitted by their number, however long they are.
    5: Fault(_continuous, _count_heads),
    # Every tenth request keeps its slot and its tokens for ever.
    6: Fault(_continuous, _leak),
    # The seventh exercise looks for a number in a sound server.
    7: Fault(),
}
