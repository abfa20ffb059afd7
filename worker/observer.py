"""Makes metrics of what an engine does: the policy and the model know of none.

Called from the loop's thread: once an iteration and once a sequence that ends. Totals may be read by other threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import Completion, Delivery, FinishReason, Timings
from scheduler.observations import Observations

if TYPE_CHECKING:
    from worker.live import LiveLog


class EngineObserver:
    """Observes one engine."""

    def __init__(self) -> None:
        self.observations = Observations()
        self.live: LiveLog | None = None  # while somebody watches; set by the heartbeat's thread
        self._committed_s = 0.0
        self._deferred_id = ""

    def note_held(self, policy: ContinuousBatching) -> None:
        """Count what runs in the iteration that was just planned; its commit retires some of it."""
        counters = self.observations.counters
        counters.peak_running = max(counters.peak_running, len(policy.running))
        counters.peak_reserved_tokens = max(counters.peak_reserved_tokens, policy.reserved_tokens)

    def note_iteration(self, plan: StepPlan, policy: ContinuousBatching, planned_s: float, now: float) -> None:
        """Count an iteration that was planned at `planned_s` and ended now."""
        # A decoding sequence has run without a break since the last commit: the time between is part of its latency.
        begun_s = self._committed_s if plan.decodes else planned_s
        self._committed_s = now
        prompt_tokens = sum([len(sequence.request.prompt_ids) for sequence in plan.prefills])
        observations = self.observations
        observations.note_iteration(prompt_tokens, len(plan.prefills), len(plan.decodes), now - begun_s)
        for sequence in plan.prefills:
            observations.note_first_token(sequence.queue_s, now - sequence.admitted_s)
        if (live := self.live) is not None:
            live.note(plan, policy.running, now - begun_s)
        self.note_deferred(plan.deferred_id)

    def note_deferred(self, request_id: str) -> None:
        """Count a request that is first in line and does not fit, once."""
        if request_id and request_id != self._deferred_id:
            self.observations.counters.deferred_for_budget += 1
            self._deferred_id = request_id

    def completion(self, sequence: Delivery, reason: FinishReason, now: float) -> Completion:
        """The completion of a sequence that ended; counts it, unless it was cancelled."""
        has_token = bool(sequence.output_ids)
        first_token_s = sequence.first_token_s if has_token else now
        timings = Timings(sequence.queue_s, first_token_s - sequence.admitted_s, now - first_token_s)
        completion = Completion(sequence.request_id, reason, tuple(sequence.output_ids), timings)
        if reason in (FinishReason.STOP, FinishReason.LENGTH):
            self.observations.note_end(sequence.request, completion)
        return completion
