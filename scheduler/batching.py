"""Continuous batching, and what it shares with every batching policy: who waits, who runs, how much is reserved.

Each iteration is `plan -> forward pass -> commit`. `plan` admits waiting requests in their order, as the policy
allows; `commit` takes one new token per running sequence and retires those that ended. Nothing here reads a clock, a
queue or an array: time comes as an argument, which is why the same classes serve, are tested with seeded random
workloads and can be simulated. Nothing is counted either: plans and sequences are the facts that an observer counts.

The unit is the token. A request reserves KV memory for its prompt and its greatest output when it is admitted; the
budget is what the KV cache holds, so a running sequence never needs to be preempted. Slots (row numbers of the batch)
are plenty on purpose: the tokens bind first, and twice as many short requests run as long ones would.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from scheduler.messages import EOS_ID, Delivery, FinishReason, FreeCapacity


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one worker can hold and do at once."""

    kv_budget_tokens: int  # KV bytes / bytes per token
    max_slots: int
    max_iteration_tokens: int  # prompt tokens and decoded tokens of one iteration; bounds its duration


@dataclass(slots=True)
class RunningSequence:
    """An admitted request: it owns one slot and `reserved_tokens` of the budget until it is retired."""

    delivery: Delivery
    slot: int
    admitted_s: float
    queue_s: float  # from acceptance by the API until admission
    reserved_tokens: int
    deadline_s: float = inf
    output_ids: list[int] = field(default_factory=list)
    first_token_s: float = 0.0

    @property
    def request_id(self) -> str:
        return self.delivery.request.request_id


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What the next forward pass computes: whole prompts of the new, one token of each of the others."""

    prefills: tuple[RunningSequence, ...]
    decodes: tuple[RunningSequence, ...]
    deferred_id: str = ""  # of the request that is first in line and does not fit into the KV budget

    def __iter__(self) -> Iterator[RunningSequence]:
        """All of them, in the order in which `commit` expects the tokens."""
        return iter(self.prefills + self.decodes)


class AdmissionBudget(NamedTuple):
    """What a policy lets join the batch in one iteration; the KV budget and the slots bound it further."""

    num_sequences: int
    prompt_tokens: int


class _Waiting(NamedTuple):
    delivery: Delivery
    submitted_s: float
    deadline_s: float

    def waited_s(self, now: float) -> float:
        """Since the API accepted it."""
        return self.delivery.waited_s + now - self.submitted_s


class BatchingPolicy(ABC):
    """Owns `waiting` and `running`. First come, first served: nobody is overtaken, so nobody starves.

    A policy adds when the next iteration is due and how much it admits.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self.reserved_tokens = 0
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._waiting_tokens = 0
        self._running: dict[str, RunningSequence] = {}
        self._deadlines: list[tuple[float, str]] = []  # a heap; entries of requests that are gone are passed over
        self._free_slots = list(range(limits.max_slots))  # a heap: low slots first keeps the batch dense

    @property
    def has_work(self) -> bool:
        return bool(self._waiting or self._running)

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def free_tokens(self) -> int:
        """Budget that neither running nor waiting requests claim."""
        return max(0, self.limits.kv_budget_tokens - self.reserved_tokens - self._waiting_tokens)

    @property
    def free_capacity(self) -> FreeCapacity:
        """What the mailbox may deliver now."""
        return FreeCapacity(self.free_tokens)

    def running(self) -> Iterator[RunningSequence]:
        return iter(self._running.values())

    def holds(self, request_id: str) -> bool:
        return request_id in self._running or request_id in self._waiting

    def held_ids(self) -> list[str]:
        """Every request here, running ones first, each group in order of arrival."""
        return [*self._running, *self._waiting]

    def submit(self, delivery: Delivery, now: float) -> None:
        """Let a request wait for admission. The caller has checked that it could fit an empty cache."""
        request = delivery.request
        assert request.reserved_tokens <= self.limits.kv_budget_tokens, "checked by the engine"
        waiting = self._waiting[request.request_id] = _Waiting(delivery, now, now + delivery.left_s)
        self._waiting_tokens += request.reserved_tokens
        if delivery.left_s < inf:
            heapq.heappush(self._deadlines, (waiting.deadline_s, request.request_id))
            if len(self._deadlines) > 64 + 2 * (len(self._waiting) + len(self._running)):
                self._forget_deadlines()

    def late_ids(self, now: float) -> list[str]:
        """Requests whose deadline is over; each is named once and is then to be cancelled."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= now:
            entry = heapq.heappop(self._deadlines)
            if self._is_current(entry):
                late.append(entry[1])
        return late

    def cancel(self, request_id: str) -> RunningSequence | None:
        """Take a request out wherever it is. Returns the running sequence whose slot became free, if it ran."""
        sequence = self._running.get(request_id)
        if sequence is not None:
            self._retire(sequence)
        elif request_id in self._waiting:
            self._take_from_waiting(request_id)
        return sequence

    @abstractmethod
    def due_in_s(self, now: float) -> float | None:
        """How long until the next iteration is to run: 0 at once, None while there is nothing to compute."""

    def stop_waiting(self) -> None:  # noqa: B027 - a policy that never waits has nothing to do
        """Nothing more will come: an iteration is due as soon as there is anything to compute."""

    @abstractmethod
    def _admission_budget(self, now: float) -> AdmissionBudget:
        """What may join the batch now, as far as the policy is concerned."""

    def plan(self, now: float) -> StepPlan:
        """Admit what fits, then decide the forward pass. Changes `waiting` and `running`."""
        decodes = tuple(self._running.values())
        prefills: list[RunningSequence] = []
        deferred_id = self._admit(prefills, now)
        return StepPlan(tuple(prefills), decodes, deferred_id)

    def commit(self, plan: StepPlan, tokens: Sequence[int], now: float) -> list[tuple[RunningSequence, FinishReason]]:
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

    def _finish_reason(self, sequence: RunningSequence) -> FinishReason | None:
        if sequence.output_ids[-1] == EOS_ID:
            return FinishReason.STOP
        if len(sequence.output_ids) >= sequence.delivery.request.max_output_tokens:
            return FinishReason.LENGTH
        return None

    def _admit(self, prefills: list[RunningSequence], now: float) -> str:
        """Start what fits, in order. Returns the id of the request that does not fit into the KV budget, or ''."""
        budget = self._admission_budget(now)
        prompt_tokens = 0
        while self._waiting and self._free_slots and len(prefills) < budget.num_sequences:
            request = next(iter(self._waiting.values())).delivery.request
            if self.reserved_tokens + request.reserved_tokens > self.limits.kv_budget_tokens:
                return request.request_id
            prompt_tokens += len(request.prompt_ids)
            if prompt_tokens > budget.prompt_tokens:
                break
            prefills.append(self._start(self._take_from_waiting(request.request_id), now))
        return ""

    def _take_from_waiting(self, request_id: str) -> _Waiting:
        waiting = self._waiting.pop(request_id)
        self._waiting_tokens -= waiting.delivery.request.reserved_tokens
        return waiting

    def _start(self, waiting: _Waiting, now: float) -> RunningSequence:
        delivery, slot = waiting.delivery, heapq.heappop(self._free_slots)
        tokens = delivery.request.reserved_tokens
        sequence = RunningSequence(delivery, slot, now, waiting.waited_s(now), tokens, waiting.deadline_s)
        self._running[sequence.request_id] = sequence
        self.reserved_tokens += tokens
        return sequence

    def _retire(self, sequence: RunningSequence) -> None:
        del self._running[sequence.request_id]
        self.reserved_tokens -= sequence.reserved_tokens
        heapq.heappush(self._free_slots, sequence.slot)

    def _is_current(self, entry: tuple[float, str]) -> bool:
        deadline_s, request_id = entry
        held = self._running.get(request_id) or self._waiting.get(request_id)
        return held is not None and held.deadline_s == deadline_s

    def _forget_deadlines(self) -> None:
        """Drop the entries of requests that are gone, so that the heap stays as small as what is held."""
        self._deadlines = [entry for entry in self._deadlines if self._is_current(entry)]
        heapq.heapify(self._deadlines)


class ContinuousBatching(BatchingPolicy):
    """The batch is formed again at every iteration (iteration-level scheduling, Orca, OSDI 22).

    A waiting request joins as soon as the token budget allows, whatever else runs; when a sequence ends, its tokens and
    its slot are free for the very next plan.
    """

    def due_in_s(self, now: float) -> float | None:
        return 0.0 if self.has_work else None

    def _admission_budget(self, now: float) -> AdmissionBudget:
        """Prompts next to the running ones' tokens, so that no sequence waits long for its next token."""
        return AdmissionBudget(self.limits.max_slots, self.limits.max_iteration_tokens - self.num_running)
