"""Continuous batching of a decode worker: it goes on from prompts that prefill workers have read.

A worker of role `all` does not import this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import Delivery


@dataclass(slots=True)
class Handed:
    """What a decode worker needs in addition to the request."""

    first_id: int  # output id of the first token
    queue_s: float  # as the prefill worker saw it
    prefill_s: float
    kv: Any  # keys and values of the prompt, an array (L, T, 2C)
    decoder: Sequence[float]  # what the decoder remembers of the sequence


class DecodeBatching(ContinuousBatching):
    """Decodes what was handed over, and reads the prompts of what was lost on its way."""

    joined: tuple[Delivery, ...] = ()  # of the last plan: those that go on from what another worker has read

    def __init__(self, limits: BatchLimits) -> None:
        super().__init__(replace(limits, role="decode"))

    def plan(self, now: float) -> StepPlan:
        plan = super().plan(now)
        self.joined = tuple(sequence for sequence in plan.prefills if sequence.handed)
        for sequence in self.joined:
            self._continue(sequence)
        prefills = tuple(sequence for sequence in plan.prefills if not sequence.handed)
        return StepPlan(prefills, plan.decodes + self.joined, plan.deferred_id)

    def _continue(self, sequence: Delivery) -> None:
        """As if it had been read here: the times count from its acceptance, whichever clock they are from."""
        handed: Handed = sequence.handed
        sequence.output_ids.append(handed.first_id)
        sequence.admitted_s = sequence.submitted_s - sequence.waited_s + handed.queue_s
        sequence.first_token_s = sequence.admitted_s + handed.prefill_s
