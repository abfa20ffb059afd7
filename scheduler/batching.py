"""What every batching policy keeps: who waits, who runs, how much room is taken.

Each iteration is `plan -> forward pass -> commit`. `plan` admits waiting requests in their order, as the policy
allows; `commit` takes one new token per running sequence and retires those that ended. Nothing here reads a clock, a
queue or an array: time comes as an argument, which is why the same classes serve, are tested with seeded random
workloads and can be simulated.

The unit is the token. A request reserves KV room for its prompt and its greatest output when it is admitted; the
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

from scheduler.messages import EOS_ID, Completion, Delivery, FinishReason, Progress, Room, Timings
from scheduler.observations import Counters, Iteration, Observations


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
    queue_s: float
    deadline_s: float = inf
    output_ids: list[int] = field(default_factory=list)
    first_token_s: float = 0.0
    first_iteration: int = 0  # the number of the one that gave the first token

    @property
    def request_id(self) -> str:
        return self.delivery.request.request_id

    @property
    def reserved_tokens(self) -> int:
        return self.delivery.request.reserved_tokens


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What the next forward pass computes: whole prompts of the new, one token of each of the others."""

    prefills: tuple[RunningSequence, ...]
    decodes: tuple[RunningSequence, ...]

    def __iter__(self) -> Iterator[RunningSequence]:
        """In the order in which `commit` expects the tokens."""
        yield from self.prefills
        yield from self.decodes


class Opening(NamedTuple):
    """What a policy lets join the batch in one iteration; the KV budget and the slots bound it further."""

    num_sequences: int
    prompt_tokens: int


@dataclass(slots=True)
class _Waiting:
    delivery: Delivery
    submitted_s: float
    deadline_s: float
    was_deferred: bool = False

    def waited_s(self, now: float) -> float:
        """Since the API accepted it."""
        return self.delivery.waited_s + now - self.submitted_s


class BatchingPolicy(ABC):
    """Owns `waiting` and `running`. First come, first served: nobody is overtaken, so nobody starves.

    A policy adds when the next iteration is due and whom it admits.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self.observations = Observations()
        self.reserved_tokens = 0
        self._planned_s = self._committed_s = 0.0
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._waiting_tokens = 0
        self._running: dict[str, RunningSequence] = {}
        self._deadlines: list[tuple[float, str]] = []  # a heap; those of earlier lives of an id are passed over
        self._free_slots = list(range(limits.max_slots))  # a heap: low slots first keeps the batch dense

    @property
    def counters(self) -> Counters:
        return self.observations.counters

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
        """Budget that neither running nor waiting requests claim: what the mailbox may still deliver."""
        return max(0, self.limits.kv_budget_tokens - self.reserved_tokens - self._waiting_tokens)

    @property
    def room(self) -> Room:
        """What the mailbox may deliver now."""
        return Room(self.free_tokens, may_look_ahead=not self._waiting)

    def holds(self, request_id: str) -> bool:
        return request_id in self._running or request_id in self._waiting

    def held_ids(self) -> list[str]:
        """Every request here, running ones first, each group in order of arrival."""
        return [*self._running, *self._waiting]

    def submit(self, delivery: Delivery, now: float) -> None:
        """Let a request wait for admission. The caller has checked that it could fit an empty cache."""
        assert delivery.request.reserved_tokens <= self.limits.kv_budget_tokens, "checked by the engine"
        waiting = self._waiting[delivery.request.request_id] = _Waiting(delivery, now, now + delivery.left_s)
        self._waiting_tokens += delivery.request.reserved_tokens
        if delivery.left_s < inf:
            heapq.heappush(self._deadlines, (waiting.deadline_s, delivery.request.request_id))

    def late_ids(self, now: float) -> list[str]:
        """Those whose answer is of no use any more; each is told once, and to be cancelled."""
        late = []
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline_s, request_id = heapq.heappop(self._deadlines)
            held = self._running.get(request_id) or self._waiting.get(request_id)
            if held is not None and held.deadline_s == deadline_s:
                late.append(request_id)
        return late

    def cancel(self, request_id: str) -> RunningSequence | None:
        """Take a request out wherever it is. Returns the running sequence whose room became free, if it ran."""
        sequence = self._running.get(request_id)
        if sequence is not None:
            self._retire(sequence)
        elif request_id in self._waiting:
            self._take_from_waiting(request_id)
        return sequence

    def progress(self) -> list[Progress]:
        """What the running sequences have written to which somebody listens."""
        listened = (sequence for sequence in self._running.values() if sequence.delivery.streams)
        return [Progress(each.request_id, tuple(each.output_ids)) for each in listened if each.output_ids]

    @abstractmethod
    def due_in_s(self, now: float) -> float | None:
        """How long until the next iteration is to run: 0 at once, None while there is nothing to compute."""

    def stop_waiting(self) -> None:  # noqa: B027 - a policy that never waits has nothing to do
        """Nothing more will come: an iteration is due as soon as there is anything to compute."""

    @abstractmethod
    def _opening(self, now: float) -> Opening:
        """What may join the batch now, as far as the policy is concerned."""

    def plan(self, now: float) -> StepPlan:
        """Admit what fits, then decide the forward pass. Changes `waiting` and `running`."""
        self._planned_s = now
        decodes = tuple(self._running.values())
        return StepPlan(prefills=tuple(self._admit(now, self._opening(now))), decodes=decodes)

    def commit(self, plan: StepPlan, tokens: Sequence[int], now: float) -> list[tuple[RunningSequence, Completion]]:
        """Append one token to each sequence of the plan, in its order; retire and return those that ended."""
        self._observe(plan, now)
        finished = []
        for sequence, token in zip(plan, tokens, strict=True):
            if not sequence.output_ids:
                sequence.first_token_s = now
                sequence.first_iteration = self.observations.iterations.number
            sequence.output_ids.append(token)
            reason = self._finish_reason(sequence)
            if reason is not None:
                self._retire(sequence)
                completion = _completion(sequence, reason, now)
                self.observations.note_end(sequence.delivery.request, completion)
                finished.append((sequence, completion))
        return finished

    def _finish_reason(self, sequence: RunningSequence) -> FinishReason | None:
        if sequence.output_ids[-1] == EOS_ID:
            return FinishReason.STOP
        if len(sequence.output_ids) >= sequence.delivery.request.max_output_tokens:
            return FinishReason.LENGTH
        return None

    def _admit(self, now: float, opening: Opening) -> Iterator[RunningSequence]:
        num_sequences, prompt_tokens = 0, 0
        while self._waiting and self._free_slots and num_sequences < opening.num_sequences:
            first = next(iter(self._waiting.values()))
            request = first.delivery.request
            if self.reserved_tokens + request.reserved_tokens > self.limits.kv_budget_tokens:
                self._defer(first)
                return
            num_sequences += 1
            prompt_tokens += len(request.prompt_ids)
            if prompt_tokens > opening.prompt_tokens:
                return
            yield self._start(self._take_from_waiting(request.request_id), now)

    def _take_from_waiting(self, request_id: str) -> _Waiting:
        waiting = self._waiting.pop(request_id)
        self._waiting_tokens -= waiting.delivery.request.reserved_tokens
        return waiting

    def _start(self, waiting: _Waiting, now: float) -> RunningSequence:
        slot = heapq.heappop(self._free_slots)
        sequence = RunningSequence(waiting.delivery, slot, now, waiting.waited_s(now), waiting.deadline_s)
        self._running[sequence.request_id] = sequence
        self.reserved_tokens += sequence.reserved_tokens
        self.counters.peak_reserved_tokens = max(self.counters.peak_reserved_tokens, self.reserved_tokens)
        self.counters.peak_running = max(self.counters.peak_running, len(self._running))
        return sequence

    def _defer(self, waiting: _Waiting) -> None:
        self.counters.deferred_for_budget += not waiting.was_deferred
        waiting.was_deferred = True

    def _retire(self, sequence: RunningSequence) -> None:
        del self._running[sequence.request_id]
        self.reserved_tokens -= sequence.reserved_tokens
        heapq.heappush(self._free_slots, sequence.slot)

    def _observe(self, plan: StepPlan, now: float) -> None:
        # Who decodes has run without a break since the last commit: what came between is part of its latency.
        begun_s = self._committed_s if plan.decodes else self._planned_s
        self._committed_s = now
        prompt_tokens = sum(len(sequence.delivery.request.prompt_ids) for sequence in plan.prefills)
        self.observations.note_iteration(Iteration(prompt_tokens, len(plan.prefills), len(plan.decodes), now - begun_s))
        for sequence in plan.prefills:
            self.observations.note_first_token(sequence.queue_s, now - sequence.admitted_s)


def _completion(sequence: RunningSequence, reason: FinishReason, now: float) -> Completion:
    timings = Timings(
        queue_s=sequence.queue_s,
        prefill_s=sequence.first_token_s - sequence.admitted_s,
        decode_s=now - sequence.first_token_s,
    )
    return Completion(sequence.request_id, reason, tuple(sequence.output_ids), timings)
