"""Static batching, the baseline: the batch is fixed until its longest member ends (request-level scheduling).

Requests are collected until there are enough for a batch or the first has waited long enough, whichever comes first.
All prompts of a batch are read in one pass. An answer goes out when its own sequence ends, which is kinder than the
textbook's version, where nobody leaves before the last; the place of a sequence that ended stays empty all the same.
With `fixed_tokens` every member decodes that many tokens, wanted or not, as a server without an end-of-sequence test
for single rows does: all end together, and the waste is computed in full.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.batching import AdmissionBudget, BatchingPolicy, BatchLimits, RunningSequence
from scheduler.messages import EOS_ID, MAX_OUTPUT_TOKENS, MAX_PROMPT_TOKENS, NO_CAPACITY, FinishReason, FreeCapacity

_LARGEST_REQUEST_TOKENS = MAX_PROMPT_TOKENS + MAX_OUTPUT_TOKENS


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """When a batch is complete, and how long it runs."""

    max_batch: int
    max_wait_s: float  # since the first of the batch was accepted by the API
    fixed_tokens: int = 0  # 0: each sequence ends with its own <eos>


class StaticBatching(BatchingPolicy):
    """One batch at a time; nobody joins a running one."""

    def __init__(self, limits: BatchLimits, options: StaticOptions) -> None:
        super().__init__(limits)
        self.options = options
        self._max_wait_s = options.max_wait_s
        self._batch_size = min(options.max_batch, limits.max_slots)

    @property
    def free_capacity(self) -> FreeCapacity:
        """Of one batch, and nothing while one runs: another worker may be free before this one."""
        if self.num_running:
            return NO_CAPACITY
        return FreeCapacity(self.free_tokens, max(0, self._batch_size - self.num_waiting))

    def due_in_s(self, now: float) -> float | None:
        if self.num_running or self._is_complete():
            return 0.0
        if not self._waiting:
            return None
        first = next(iter(self._waiting.values()))
        return max(0.0, self._max_wait_s - first.waited_s(now))

    def stop_waiting(self) -> None:
        self._max_wait_s = 0.0

    def _admission_budget(self, now: float) -> AdmissionBudget:
        """A whole batch, or nothing. Nobody is running who would have to wait for long prompts."""
        is_open = not self.num_running and self.due_in_s(now) == 0.0
        return AdmissionBudget(self._batch_size, self.limits.kv_budget_tokens) if is_open else AdmissionBudget(0, 0)

    def _is_complete(self) -> bool:
        """Enough of them, for the batch or for the slots, or no room that any other is sure to fit in."""
        return self.num_waiting >= self._batch_size or (
            self.num_waiting > 0 and self.free_tokens < _LARGEST_REQUEST_TOKENS
        )

    def _finish_reason(self, sequence: RunningSequence) -> FinishReason | None:
        if not self.options.fixed_tokens:
            return super()._finish_reason(sequence)
        if len(sequence.output_ids) < min(self.options.fixed_tokens, sequence.delivery.request.max_output_tokens):
            return None
        if EOS_ID not in sequence.output_ids:
            return FinishReason.LENGTH
        del sequence.output_ids[sequence.output_ids.index(EOS_ID) + 1 :]
        return FinishReason.STOP
