"""Makes metrics and traces of what an engine does: the policy and the model know of neither.

Called from the loop's thread: once an iteration and once a sequence that ends. Totals may be read by other threads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import Completion, Delivery, FinishReason, Timings
from scheduler.observations import Observations
from scheduler.traces import RecentIterations, sequence_text

if TYPE_CHECKING:
    from scheduler.spans import SpanSink
    from worker.live import LiveLog


class EngineObserver:
    """Observes one engine. With `keeps_traces` each completion carries the trace of its sequence."""

    def __init__(self, keeps_traces: bool = False, spans: SpanSink | None = None) -> None:
        self.observations = Observations()
        self._iterations = RecentIterations()
        self._keeps_traces = keeps_traces or spans is not None
        self._spans = spans
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
        if self._keeps_traces:
            self._iterations.note(now - begun_s, len(plan.prefills) + len(plan.decodes))
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
        trace = sequence_text(sequence, reason, timings, self._iterations) if self._keeps_traces else ""
        output_ids = tuple(sequence.output_ids)
        completion = Completion(sequence.request_id, reason, output_ids, timings, trace=trace)
        request = sequence.request
        if reason in (FinishReason.STOP, FinishReason.LENGTH):
            self.observations.note_end(request, completion)
        if self._spans is not None and request.traceparent is not None:
            self._spans.note_sequence(request.traceparent, request.request_id, trace, time.time())
        return completion
