"""The ways to serve one model, by the name that `mode` gives them."""

from __future__ import annotations

from scheduler.batching import BatchingPolicy, BatchLimits, ContinuousBatching
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS
from scheduler.settings import Settings
from scheduler.static import StaticBatching, StaticOptions


def policy_for(settings: Settings) -> BatchingPolicy:
    """How the engine of this mode forms its batches: where the API has the model, of a single request each."""
    if not settings.uses_queue:
        largest = MAX_PROMPT_TOKENS + MAX_OUTPUT_TOKENS
        return ContinuousBatching(BatchLimits(kv_budget_tokens=largest, max_slots=1, max_iteration_tokens=largest))
    limits = BatchLimits(settings.kv_budget_tokens, settings.max_slots, settings.max_iteration_tokens)
    if settings.mode == "static":
        return StaticBatching(
            limits, StaticOptions(settings.max_batch, settings.max_wait_ms / 1e3, settings.fixed_tokens)
        )
    return ContinuousBatching(limits)
