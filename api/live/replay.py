"""The load of the last seconds once more, under three policies: the classes that serve, on a clock of their own.

The requests are those that the watched worker has begun, with their prompts, their waits and the lengths of their
answers; what an iteration costs is learnt from all that ran. Every policy has the same few slots, so that the picture
shows what happens to a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.capacity.iteration_cost import IterationCost
from scheduler.messages import EOS_ID, MAX_OUTPUT_TOKENS, CorrectionRequest, Delivery
from scheduler.static import StaticBatching

SLOTS = 8
_MAX_WAIT_S = 0.02
_MOST_REQUESTS = 2000
_MOST_ITERATIONS = 6000
_STEP_ITERATIONS = 64  # between two pauses: 1 ms at most
_LEAST_S = 1e-4  # of an iteration: the clock goes on, also where nothing is known of the cost
_WORD = EOS_ID + 1  # any token that is not <eos>
TEXTBOOK, STATIC, CONTINUOUS = "textbook static", "static", "continuous"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request of the load."""

    number: int
    at_s: float  # since any moment
    prompt_tokens: int
    output_tokens: int


@dataclass(slots=True)
class Run:
    """What a policy made of the load."""

    iterations: list[list[Any]] = field(default_factory=list)  # as a worker reports them, and slots that are wasted
    latencies_s: list[float] = field(default_factory=list)
    busy: int = 0  # slot-steps that gave a token of an answer
    taken: int = 0  # and of slots that nobody else could have: a static batch holds those of its members to its end
    batch: frozenset[int] = frozenset()  # slots of all who run, or of all members of a static batch
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        ordered = sorted(self.latencies_s)
        return {
            "iterations": self.iterations,
            "answers": len(ordered),
            "seconds": round(self.seconds, 3),
            "p95_ms": round(1e3 * ordered[ceil(0.95 * len(ordered)) - 1], 1) if ordered else None,
            "wasted": round(1 - self.busy / self.taken, 3) if self.taken else 0.0,
        }


def replay(
    arrivals: Sequence[Arrival], cost: IterationCost, kv_budget_tokens: int, pause: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Return what became of these requests, by policy. `pause` is called now and then: others wait meanwhile."""
    limits = BatchLimits(kv_budget_tokens, SLOTS, kv_budget_tokens)
    policies = {
        TEXTBOOK: StaticBatching(limits, SLOTS, _MAX_WAIT_S, MAX_OUTPUT_TOKENS),
        STATIC: StaticBatching(limits, SLOTS, _MAX_WAIT_S),
        CONTINUOUS: ContinuousBatching(limits),
    }
    some = sorted(arrivals, key=lambda one: one.at_s)[:_MOST_REQUESTS]
    some = [replace(one, at_s=one.at_s - some[0].at_s) for one in some]
    return {name: _run(policy, some, cost, pause).document() for name, policy in policies.items()}


def _run(
    policy: ContinuousBatching, arrivals: Sequence[Arrival], cost: IterationCost, pause: Callable[[], None]
) -> Run:
    run, now, waiting = Run(), 0.0, list(reversed(arrivals))
    by_id = {str(one.number): one for one in arrivals}
    while (waiting or policy.has_work) and len(run.iterations) < _MOST_ITERATIONS:
        while waiting and waiting[-1].at_s <= now:
            _submit(policy, waiting.pop(), now)
        due_in_s = policy.due_in_s(now)
        next_s = waiting[-1].at_s - now if waiting else None
        if due_in_s is None or due_in_s > 0:
            waits_s = [wait_s for wait_s in (due_in_s, next_s) if wait_s is not None]
            if not waits_s:
                break
            now += max(_LEAST_S, min(waits_s))
            continue
        now = _step(policy, by_id, cost, now, run)
        if len(run.iterations) % _STEP_ITERATIONS == 0:
            pause()
    run.seconds = now
    return run


def _submit(policy: ContinuousBatching, one: Arrival, now: float) -> None:
    size = max(1, min(one.prompt_tokens, policy.limits.kv_budget_tokens - MAX_OUTPUT_TOKENS))
    request = CorrectionRequest(str(one.number), (_WORD,) * size, (0,) * size, MAX_OUTPUT_TOKENS, "")
    policy.submit(Delivery(request, attempt=1, waited_s=now - one.at_s), now)


def _step(policy: ContinuousBatching, by_id: dict[str, Arrival], cost: IterationCost, now: float, run: Run) -> float:
    """One iteration; returns when it ends."""
    plan = policy.plan(now)
    prompts = sum(len(one.delivery.request.prompt_ids) for one in plan.prefills)
    seconds = max(_LEAST_S, cost.seconds(prompts, len(plan.decodes)))
    wanted = {one.request_id: by_id[one.request_id].output_tokens for one in plan}
    decoding, ended = [], []
    if plan.prefills or not isinstance(policy, StaticBatching):
        run.batch = frozenset(one.slot for one in plan)
    busy = {one.slot for one in plan if len(one.output_ids) < wanted[one.request_id]}
    run.taken += len(run.batch)
    run.busy += len(busy)
    for one in plan:
        num_done = len(one.output_ids)
        if num_done and num_done < wanted[one.request_id]:
            decoding += [one.slot, int(one.request_id)]
        if num_done + 1 == wanted[one.request_id]:
            ended += [one.slot, int(one.request_id), num_done + 1]
            run.latencies_s.append(now + seconds - by_id[one.request_id].at_s)
    began = [[one.slot, int(one.request_id), len(one.delivery.request.prompt_ids), 0] for one in plan.prefills]
    run.iterations.append([round(seconds * 1e3, 2), began, decoding, ended, sorted(run.batch - busy)])
    tokens = [EOS_ID if len(one.output_ids) + 1 >= wanted[one.request_id] else _WORD for one in plan]
    policy.commit(plan, tokens, now + seconds)
    return now + seconds
