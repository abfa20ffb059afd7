"""What a worker notes of each sequence for its trace: nothing while it runs, a line of numbers when it ended.

Used from the loop's thread. A trace is complete once the queue has the answer, which the actor says.
"""

from __future__ import annotations

import time
from collections import deque

from scheduler.batching import BatchingPolicy, RunningSequence
from scheduler.messages import CorrectionRequest, FinishReason
from scheduler.trace_context import SpanSink
from worker.mailbox.traces import Traces

_FORM = "%d,%d,%d,%d,%s,%d,%d;%s"  # filled by %, half as long as by an f-string; SequencePart reads it
_MOST_UNPUBLISHED = 1024  # more than a worker runs at once; while Redis is away the oldest go


class Tracer:
    """Of one engine."""

    def __init__(self, policy: BatchingPolicy, traces: Traces, spans: SpanSink | None = None) -> None:
        self._iterations = policy.observations.iterations
        self._traces = traces
        self._spans = spans
        self._unpublished: deque[tuple[CorrectionRequest, str, float]] = deque(maxlen=_MOST_UNPUBLISHED)

    def note_end(self, sequence: RunningSequence, reason: FinishReason, now: float) -> None:
        delivery = sequence.delivery
        prefill_s = (sequence.first_token_s if sequence.output_ids else now) - sequence.admitted_s
        steps = self._iterations.text_since(sequence.first_iteration) if sequence.output_ids else ""
        request, num_tokens = delivery.request, len(sequence.output_ids)
        facts = (delivery.attempt, sequence.slot, len(request.prompt_ids), num_tokens, reason.value)
        text = _FORM % (*facts, sequence.queue_s * 1e6, prefill_s * 1e6, steps)
        if len(self._unpublished) == _MOST_UNPUBLISHED:
            self._traces.num_dropped += 1
        self._unpublished.append((request, text, now))

    def note_published(self, now: float) -> None:
        """The queue has the answers of all that ended before."""
        for request, text, ended_s in self._unpublished:
            text = f"{text};{(now - ended_s) * 1e6:.0f}"
            if self._traces.is_on:
                self._traces.add(request.request_id, text)
            if self._spans is not None and request.traceparent is not None:
                self._spans.note_sequence(request.traceparent, request.request_id, text, time.time())
        self._unpublished.clear()
