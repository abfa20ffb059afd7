"""Continuous batching: the batch is formed anew at every iteration (iteration-level scheduling, Orca, OSDI 22).

Whoever waits joins as soon as the token budget allows, whoever else runs; who ends leaves, and his room is free for the
very next plan.
"""

from __future__ import annotations

from scheduler.batching import BatchingPolicy, Opening


class ContinuousBatching(BatchingPolicy):
    """Requests join and leave the running batch between two tokens."""

    def due_in_s(self, now: float) -> float | None:
        return 0.0 if self.has_work else None

    def _opening(self, now: float) -> Opening:
        """Prompts beside the running ones' tokens, so that an iteration stays short for those who wait for a token."""
        return Opening(self.limits.max_slots, self.limits.max_iteration_tokens - self.num_running)
