"""Counts and traces of a decode worker: what came from a prefill worker has steps that were not made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import Completion, Delivery, FinishReason
from scheduler.pools import DecodeBatching, Handed, handed_of
from scheduler.trace_parts import HANDOFF_BATCH
from scheduler.traces import RecentIterations
from worker.observer import EngineObserver

if TYPE_CHECKING:
    from scheduler.spans import SpanSink


class HopObserver(EngineObserver):
    """Also counts the time between the first token and the worker that goes on from it."""

    def __init__(self, keeps_traces: bool = False, spans: SpanSink | None = None) -> None:
        super().__init__(keeps_traces, spans)
        self._iterations: HopIterations = HopIterations()

    def note_iteration(self, plan: StepPlan, policy: ContinuousBatching, planned_s: float, now: float) -> None:
        assert isinstance(policy, DecodeBatching)
        if len(policy.joined) == len(plan.decodes):
            self._committed_s = planned_s  # nobody here has run since the last commit
        for sequence in policy.joined:
            hop_s = max(0.0, self._committed_s - sequence.first_token_s)
            self.observations.histograms.request_handoff_time.observe(hop_s)
            self.observations.sums.handoff_s += hop_s
        if (live := self.live) is not None:
            live.note_joined(policy.joined)
        super().note_iteration(plan, policy, planned_s, now)

    def completion(self, sequence: Delivery, reason: FinishReason, now: float) -> Completion:
        self._iterations.handed = handed_of(sequence)
        self._iterations.decode_s = now - sequence.first_token_s
        return super().completion(sequence, reason, now)


class HopIterations(RecentIterations):
    """The steps of the sequence that `handed` names: its prompt's, which was elsewhere, the way here, and its own."""

    handed: Handed | None = None
    decode_s = 0.0  # since its first token

    def last(self, number: int) -> str:
        if self.handed is None or not number:
            return super().last(number)
        own = super().last(number - 1)
        hop_us = self.decode_s * 1e6 - sum(int(step.partition(":")[0]) for step in own.split())
        return f"0:{self.handed.batch_size} {max(0.0, hop_us):.0f}:{HANDOFF_BATCH} {own}".rstrip()
