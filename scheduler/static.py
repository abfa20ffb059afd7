"""Static batching, the baseline: the batch is fixed until its longest member ends (request-level scheduling).

Requests are collected until there are enough for a batch or the first has waited long enough, whichever comes first.
All prompts of a batch are read in one pass. An answer goes out when its own sequence ends, which is kinder than the
textbook's version, where nobody leaves before the last; the place of a sequence that ended stays empty all the same.
With `fixed_tokens` every member decodes that many tokens, wanted or not, as a server without an end-of-sequence test
for single rows does: all end together, and the waste is computed in full.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, ID_MASK, MAX_TOTAL_TOKENS, NO_CAPACITY, Delivery, FinishReason, FreeCapacity


class StaticBatching(ContinuousBatching):
    """One batch at a time: admission is open only between two batches."""

    def __init__(self, limits: BatchLimits, max_batch: int, max_wait_s: float, fixed_tokens: int = 0) -> None:
        """The wait begins when the API accepts the first of a batch; `fixed_tokens` 0: each ends with its own <eos>."""
        # A whole batch is read at once: nobody is running who would have to wait for long prompts.
        super().__init__(replace(limits, max_iteration_tokens=limits.kv_budget_tokens))
        self._batch_size = min(max_batch, limits.max_slots)
        self._free_slots = list(range(self._batch_size))
        self._max_wait_s = max_wait_s
        self._fixed_tokens = fixed_tokens

    @property
    def free_capacity(self) -> FreeCapacity:
        """Return the room of one batch, and none while one runs: another worker may be free before this one."""
        if self.running:
            return NO_CAPACITY
        return FreeCapacity(self.free_tokens, max(0, self._batch_size - len(self.waiting)))

    def due_in_s(self, now: float) -> float | None:
        if not self.has_work:
            return None
        # Complete: enough of them, or no room that any other is sure to fit in.
        if self.running or len(self.waiting) >= self._batch_size or self.free_tokens < MAX_TOTAL_TOKENS:
            return 0.0
        return max(0.0, self._max_wait_s - next(iter(self.waiting.values())).age_s(now))

    def stop_waiting(self) -> None:
        self._max_wait_s = 0.0

    def plan(self, now: float) -> StepPlan:
        """A whole batch, or nobody new."""
        if self.running or self.due_in_s(now) != 0.0:
            return StepPlan((), tuple(self.running.values()))
        return super().plan(now)

    def _finish_reason(self, sequence: Delivery) -> FinishReason | None:
        if not self._fixed_tokens:
            return super()._finish_reason(sequence)
        if len(sequence.output_ids) < min(self._fixed_tokens, sequence.request.max_output_tokens):
            return None
        tokens = [output_id & ID_MASK for output_id in sequence.output_ids]
        if EOS_ID not in tokens:
            return FinishReason.LENGTH
        del sequence.output_ids[tokens.index(EOS_ID) + 1 :]
        return FinishReason.STOP
