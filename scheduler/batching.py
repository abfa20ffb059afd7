"""Continuous batching: who waits, who runs, how much is reserved.

Each iteration is `plan -> forward pass -> commit`. `plan` admits waiting requests in their order; `commit` takes one
new token per running sequence and retires those that ended. Nothing here reads a clock, a queue or an array: time comes
as an argument, which is why the same class serves, is tested with seeded random workloads and can be simulated. Nothing
is counted either: plans and sequences are the facts that `Observations` counts.

The unit is the token. A request reserves KV memory for its prompt and its greatest output when it is admitted; the
budget is what the KV cache holds, so a running sequence never needs to be preempted. Slots (row numbers of the batch)
are plenty on purpose: the tokens bind first, and twice as many short requests run as long ones would.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from scheduler.messages import EOS_ID, ID_MASK, Delivery, FinishReason, FreeCapacity


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one worker can hold and do at once."""

    kv_budget_tokens: int  # KV bytes / bytes per token
    max_slots: int
    max_iteration_tokens: int  # rows of one iteration: prompt tokens and decoded tokens
    max_prefill_rows: int = 65_536  # of an iteration with prompts while others decode; one is always read, and whole
    role: str = "all"  # what the worker does of a request; scheduler/pools.py has the others


@dataclass(slots=True)
class StepPlan:
    """What the next forward pass computes: whole prompts of the new, one token of each of the others."""

    prefills: tuple[Delivery, ...]
    decodes: tuple[Delivery, ...]
    deferred_id: str = ""  # of the request that is first in line and does not fit into the KV budget

    def __iter__(self) -> Iterator[Delivery]:
        """All of them, in the order in which `commit` expects the tokens."""
        return iter(self.prefills + self.decodes)


class ContinuousBatching:
    """The batch is formed again at every iteration (iteration-level scheduling, Orca, OSDI 22).

    A waiting request joins a running batch as soon as the token budget allows; when a sequence ends, its tokens and
    its slot are free for the very next plan. First come, first served: nobody is overtaken, so nobody starves.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self.waiting: OrderedDict[str, Delivery] = OrderedDict()  # a plain dict finds its first slowly after deletions
        self.running: dict[str, Delivery] = {}
        self.reserved_tokens = 0  # by running sequences
        self._waiting_tokens = 0  # that waiting requests will reserve
        self._free_slots = list(range(limits.max_slots))  # a heap: low slots first keeps the batch dense
        self._next_deadline_s = inf  # no later than any here that `late_ids` has not named

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.running)

    @property
    def free_tokens(self) -> int:
        """Budget that neither running nor waiting requests claim."""
        return max(0, self.limits.kv_budget_tokens - self.reserved_tokens - self._waiting_tokens)

    @property
    def free_capacity(self) -> FreeCapacity:
        """What the mailbox may deliver now."""
        return FreeCapacity(self.free_tokens)

    def holds(self, request_id: str) -> bool:
        return request_id in self.running or request_id in self.waiting

    def held_ids(self) -> list[str]:
        """Every request here, running ones first, each group in order of arrival."""
        return [*self.running, *self.waiting]

    def submit(self, delivery: Delivery, now: float) -> None:
        """Let a request wait for admission. The caller has checked that it could fit an empty cache."""
        assert delivery.reserved_tokens <= self.limits.kv_budget_tokens, "checked by the engine"
        delivery.submitted_s, delivery.deadline_s = now, now + delivery.left_s
        self.waiting[delivery.request_id] = delivery
        self._waiting_tokens += delivery.reserved_tokens
        self._next_deadline_s = min(self._next_deadline_s, delivery.deadline_s)

    def late_ids(self, now: float) -> list[str]:
        """Requests whose deadline is over; each is named once and is then to be cancelled."""
        if now < self._next_deadline_s:
            return []
        since_s, held = self._next_deadline_s, [*self.running.values(), *self.waiting.values()]
        self._next_deadline_s = min((each.deadline_s for each in held if each.deadline_s > now), default=inf)
        return [each.request_id for each in held if since_s <= each.deadline_s <= now]

    def cancel(self, request_id: str) -> Delivery | None:
        """Take a request out wherever it is. Returns the running sequence whose slot became free, if it ran."""
        sequence = self.running.get(request_id)
        if sequence is not None:
            self._retire(sequence)
        elif request_id in self.waiting:
            self._take_from_waiting(request_id)
        return sequence

    def due_in_s(self, now: float) -> float | None:
        """How long until the next iteration is to run: 0 at once, None while there is nothing to compute."""
        return 0.0 if self.has_work else None

    def stop_waiting(self) -> None:
        """Nothing more will come: an iteration is due as soon as there is anything to compute."""

    def plan(self, now: float) -> StepPlan:
        """Admit what fits, in order, then decide the forward pass. Changes `waiting` and `running`."""
        decodes, limits = tuple(self.running.values()), self.limits
        prefills: list[Delivery] = []
        num_rows, most_rows = len(decodes), limits.max_prefill_rows if decodes else limits.max_iteration_tokens
        while self.waiting and self._free_slots:
            first = next(iter(self.waiting.values()))
            if self.reserved_tokens + first.reserved_tokens > limits.kv_budget_tokens:
                return StepPlan(tuple(prefills), decodes, deferred_id=first.request_id)
            num_rows += first.num_rows
            if num_rows > limits.max_iteration_tokens or prefills and num_rows > most_rows:
                break
            self._take_from_waiting(first.request_id)
            self.running[first.request_id] = first
            self.reserved_tokens += first.reserved_tokens
            first.slot, first.admitted_s = heapq.heappop(self._free_slots), now
            prefills.append(first)
        return StepPlan(tuple(prefills), decodes)

    def commit(self, plan: StepPlan, tokens: list[int], now: float) -> list[tuple[Delivery, FinishReason]]:
        """Append one token to each sequence of the plan, in its order; retire and return those that ended."""
        finished = []
        for sequence, token in zip(plan, tokens, strict=True):
            if not sequence.output_ids:
                sequence.first_token_s = now
            sequence.output_ids.append(token)
            reason = self._finish_reason(sequence)
            if reason is not None:
                self._retire(sequence)
                finished.append((sequence, reason))
        return finished

    def _finish_reason(self, sequence: Delivery) -> FinishReason | None:
        if sequence.output_ids[-1] & ID_MASK == EOS_ID:
            return FinishReason.STOP
        if len(sequence.output_ids) >= sequence.request.max_output_tokens:
            return FinishReason.LENGTH
        return None

    def _take_from_waiting(self, request_id: str) -> None:
        self._waiting_tokens -= self.waiting.pop(request_id).reserved_tokens

    def _retire(self, sequence: Delivery) -> None:
        del self.running[sequence.request_id]
        self.reserved_tokens -= sequence.reserved_tokens
        heapq.heappush(self._free_slots, sequence.slot)
