"""Counts of a decode worker: what came from a prefill worker has steps that were not made here."""

from __future__ import annotations

from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.pools import DecodeBatching
from worker.observer import EngineObserver


class HopObserver(EngineObserver):
    """Also counts the time between the first token and the worker that goes on from it."""

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
