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
    hop_s: float  # from Redis to one that sleeps
    note: Callable[[StepPlan, float], None] = lambda plan, seconds: None  # sees every iteration as it begins


class SimulatedWorker:
    """Between two iterations it takes from the queue what it has room for."""

    def __init__(
        self,
        clock: VirtualClock,
        policy: ContinuousBatching,
        model: WorkerModel,
        take: Callable[[SimulatedWorker], Sequence[Job]],
        finish: Callable[[Sequence[Job]], None],
    ) -> None:
        self.policy = policy
        self.busy_s = 0.0
        self._clock, self._model, self._take, self._finish = clock, model, take, finish
        self._jobs: dict[str, Job] = {}
        self._is_computing = False

    @property
    def room(self) -> tuple[int, int]:
        """Tokens and requests that it would take now."""
        capacity = self.policy.free_capacity
        return capacity.tokens, capacity.requests

    def wake(self) -> None:
        """Something waits in the queue."""
        if not self._is_computing:
            self._clock.after(self._model.hop_s, self._turn)

    def _turn(self) -> None:
        if self._is_computing:
            return
        now, policy = self._clock.now, self.policy
        for job in self._take(self):
            self._jobs[job.request.request_id] = job
            policy.submit(Delivery(job.request, 1, now - job.accepted_s), now)
        due_in_s = policy.due_in_s(now)
        if due_in_s == 0.0:
            self._compute(policy.plan(now))
        elif due_in_s is not None:
            self._clock.after(max(due_in_s, _LEAST_S), self._turn)

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
