"""A decode worker: takes what prefill workers have read, and answers it.

It is a whole worker: it reads a prompt itself where what was read of it is lost, torn or of other weights.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import Any

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import ID_MASK, Completion, Delivery
from scheduler.observations import Observations
from scheduler.pools import DecodeBatching
from worker.engine import Engine
from worker.pools.handoff import HandoffError, unpack, weights_digest
from worker.queue.worker_end import WorkerMailbox

DECODE_QUEUE = "miniserve:decode"
logger = logging.getLogger(__name__)


class DecodeEngine(Engine):
    """Goes on from what was read elsewhere."""

    def __init__(self, engine: Engine, clock: Callable[[], float]) -> None:
        """With the model and the limits of `engine`, which is not used any more."""
        self._pool = DecodeBatching(engine.policy.limits)
        super().__init__(engine.model, self._pool, clock)
        self.observations = HopObservations()
        self._digest = weights_digest(self.model.weights)

    def accept(self, delivery: Delivery) -> Completion | None:
        if delivery.handed is not None:
            self._open(delivery)
        return super().accept(delivery)

    def _open(self, delivery: Delivery) -> None:
        request, raw, delivery.handed = delivery.request, delivery.handed, None
        try:
            num_layers, _, width = self.model.arena.layers.shape
            handed = unpack(raw, self._digest, (num_layers, len(request.prompt_ids), width))
            if handed.first_id & ID_MASK >= self.model.config.vocab_size:
                raise HandoffError(f"its first token is {handed.first_id}")
            delivery.handed = handed
        except HandoffError as error:
            logger.warning("a prompt is read again", extra={"request_id": request.request_id, "reason": str(error)})

    def _placed(self, plan: StepPlan) -> StepPlan:
        for sequence in self._pool.joined:
            self._place(sequence)
            handed, num_tokens, slot = sequence.handed, len(sequence.request.prompt_ids), sequence.slot
            self.model.arena.layers[:, self._token_rows[slot, :num_tokens]] = handed.kv
            self._num_tokens[slot] = num_tokens + 1
            self._last_token[slot] = sequence.output_ids[0] & ID_MASK
            self._decoder.memory[slot] = handed.decoder
            handed.kv = None  # it is in the cache now
        return super()._placed(plan)


class HopObservations(Observations):
    """Also counts the time between the first token and the worker that goes on from it."""

    def note_iteration(self, plan: StepPlan, policy: ContinuousBatching, planned_s: float, now: float) -> None:
        assert isinstance(policy, DecodeBatching)
        if len(policy.joined) == len(plan.decodes):
            self._committed_s = planned_s  # nobody here has run since the last commit
        for sequence in policy.joined:
            self.histograms.request_handoff_time.observe(max(0.0, self._committed_s - sequence.first_token_s))
        super().note_iteration(plan, policy, planned_s, now)


class DecodeEnd(WorkerMailbox):
    """Its queue are the prompts that were read."""

    _queue = DECODE_QUEUE

    def _open_deliveries(self, raw_deliveries: list[Any]) -> tuple[Delivery, ...]:
        gets = [("GETDEL", f"miniserve:handoff:{row[0].decode()}") for row in raw_deliveries]
        replies = self._guarded(lambda: self._claims.ask(*gets)) if gets else []
        handoffs = {row[0].decode(): raw for row, raw in zip(raw_deliveries, replies, strict=True)}
        deliveries = super()._open_deliveries(raw_deliveries)
        for one in deliveries:
            handoff = handoffs[one.request_id]
            one.handed = handoff if isinstance(handoff, bytes) else b""  # it is gone, or Redis refused
        return deliveries


def prepare(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """For `worker.process.serve`."""
    return DecodeEngine(engine, monotonic), DecodeEnd
