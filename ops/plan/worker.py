"""A worker on the virtual clock: the batching policy that serves, and what its iterations cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ops.plan.clock import VirtualClock
from ops.plan.costs import WorkerCost
from ops.plan.mix import SentenceSize
from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, MAX_OUTPUT_TOKENS, CorrectionRequest, Delivery

_LEAST_S = 1e-6  # of a wait: a shorter one may not change the time at all
_WORD = EOS_ID + 1  # any token that is not <eos>


@dataclass(slots=True)
class Job:
    """A sentence on its way."""

    request: CorrectionRequest
    num_output: int
    accepted_s: float
    text: Any  # that it is part of


def job_of(name: str, size: SentenceSize, accepted_s: float, text: Any) -> Job:
    prompt = (0,) * size.prompt  # token ids that nobody reads
    return Job(CorrectionRequest(name, prompt, prompt, MAX_OUTPUT_TOKENS, ""), size.output, accepted_s, text)


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """What its iterations cost, and who looks at them."""

    cost: WorkerCost
    hop_s: float  # to Redis and back, each
    note: Callable[[StepPlan, float], None] = lambda plan, seconds: None  # sees every iteration as it begins
    claims_ahead: bool = True  # else what waits between two iterations is in the next, as if Redis took no time


class SimulatedWorker:
    """Between two iterations it takes what its claim has brought, and claims again; as worker/actor.py does.

    So what comes while an iteration runs is not in the next one, unless it is the first to come: the claim for the
    others is made between the two, and its answer is read behind the second.
    """

    def __init__(
        self,
        clock: VirtualClock,
        policy: ContinuousBatching,
        model: WorkerModel,
        claim: Callable[[SimulatedWorker], None],
        finish: Callable[[Sequence[Job]], None],
    ) -> None:
        self.policy = policy
        self.busy_s = 0.0
        self._clock, self._model, self._claim, self._finish = clock, model, claim, finish
        self._jobs: dict[str, Job] = {}
        self._coming: list[Job] = []
        self._inbox: list[Job] = []
        self._has_claim = self._is_claiming = self._is_computing = False
        self._num_timers = 0  # the last one set counts

    @property
    def room(self) -> tuple[int, int]:
        """Tokens and requests that it would take now."""
        capacity = self.policy.free_capacity
        claimed = sum([job.request.reserved_tokens for job in self._inbox]) if self._inbox else 0
        return capacity.tokens - claimed, capacity.requests

    def start(self) -> None:
        self._turn()

    def deliver(self, jobs: Sequence[Job]) -> None:
        """What its claim has brought is on its way."""
        self._coming += jobs
        if self._is_claiming:
            self._has_claim = False
        else:
            self._clock.after(self._model.hop_s, self._receive)

    def _receive(self) -> None:
        self._has_claim = False
        self._inbox += self._coming
        self._coming.clear()
        if not self._is_computing:
            self._turn()

    def _turn(self) -> None:
        now, policy = self._clock.now, self.policy
        if not self._has_claim and min(self.room) > 0:
            self._has_claim = True
            if self._model.claims_ahead:
                self._clock.after(self._model.hop_s, partial(self._claim, self))
            else:
                self._claim_now()
        for job in self._inbox:
            self._jobs[job.request.request_id] = job
            policy.submit(Delivery(job.request, 1, now - job.accepted_s), now)
        self._inbox.clear()
        due_in_s = policy.due_in_s(now)
        self._num_timers += 1
        if due_in_s == 0.0:
            self._compute(policy.plan(now))
        elif due_in_s is not None:
            self._clock.after(max(due_in_s, _LEAST_S), partial(self._look_again, self._num_timers))

    def _claim_now(self) -> None:
        self._is_claiming = True
        self._claim(self)
        self._is_claiming = False
        self._inbox += self._coming
        self._coming.clear()

    def _look_again(self, timer: int) -> None:
        if timer == self._num_timers and not self._is_computing:
            self._turn()

    def _compute(self, plan: StepPlan) -> None:
        prompt_tokens = sum([len(sequence.request.prompt_ids) for sequence in plan.prefills])
        work_s = self._model.cost.seconds(prompt_tokens, len(plan.decodes))
        self.busy_s += work_s
        self._is_computing = True
        self._model.note(plan, work_s)
        self._clock.compute(work_s, partial(self._commit, plan))

    def _commit(self, plan: StepPlan) -> None:
        self._is_computing = False
        jobs = self._jobs
        tokens = [EOS_ID if len(one.output_ids) + 1 >= jobs[one.request_id].num_output else _WORD for one in plan]
        ended = self.policy.commit(plan, tokens, self._clock.now)
        if ended:
            self._finish([jobs.pop(sequence.request_id) for sequence, _ in ended])
        self._turn()
