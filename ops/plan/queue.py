"""A queue and its workers on the virtual clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from ops.plan.clock import VirtualClock
from ops.plan.costs import Calibration
from ops.plan.worker import Job, SimulatedWorker, WorkerModel
from scheduler.batching import ContinuousBatching
from scheduler.settings import Settings
from worker.engine import WARM_UP_PROMPTS, WARM_UP_TOKENS, policy_for

Answer = Callable[[Sequence[Job]], None]


def policy_of(costs: Calibration, settings: Settings) -> ContinuousBatching:
    """That of a worker whose machine has these costs: see worker/engine.py."""
    seconds = costs.worker.seconds(WARM_UP_PROMPTS * WARM_UP_TOKENS, 0)
    return policy_for(settings, WARM_UP_PROMPTS * WARM_UP_TOKENS / max(seconds, 1e-6))


class SimulatedQueue:
    def __init__(
        self, clock: VirtualClock, model: WorkerModel, policies: Sequence[ContinuousBatching], answer: Answer
    ) -> None:
        """`policies`: one for each worker; `answer` is called with the sentences that leave one together."""
        self.num_open = 0  # accepted and unfinished
        self.reserved_tokens = 0
        self.waiting: deque[Job] = deque()
        self._answer = answer
        self.workers = [SimulatedWorker(clock, policy, model, self._take, self._finish) for policy in policies]

    def accept(self, jobs: Sequence[Job]) -> None:
        """The sentences of a request."""
        self.num_open += len(jobs)
        self.reserved_tokens += sum([job.request.reserved_tokens for job in jobs])
        self.waiting += jobs
        for worker in self.workers:
            worker.wake()

    def _take(self, worker: SimulatedWorker) -> list[Job]:
        """Its share of the queue, as far as it fits; as worker/queue/lua/take.lua does."""
        tokens, number = worker.room
        number = min(number, -(-len(self.waiting) // len(self.workers)))
        jobs: list[Job] = []
        while len(jobs) < number and self.waiting[0].request.reserved_tokens <= tokens:
            jobs.append(self.waiting.popleft())
            tokens -= jobs[-1].request.reserved_tokens
        return jobs

    def _finish(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.num_open -= 1
            self.reserved_tokens -= job.request.reserved_tokens
        self._answer(jobs)
