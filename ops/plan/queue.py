"""A queue and its workers on the virtual clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ops.plan.clock import VirtualClock
from ops.plan.costs import Calibration
from ops.plan.worker import Job, SimulatedWorker, WorkerModel
from scheduler.batching import ContinuousBatching
from scheduler.observations import IterationSums
from scheduler.settings import Settings
from worker.engine import WARM_UP_PROMPTS, WARM_UP_TOKENS, policy_for


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What the workers of a queue are like."""

    costs: Calibration
    settings: Settings

    def policy(self) -> ContinuousBatching:
        """That of a worker whose machine has these costs: see worker/engine.py."""
        seconds = self.costs.forward.seconds(WARM_UP_PROMPTS, WARM_UP_PROMPTS * WARM_UP_TOKENS, 0, 0)
        return policy_for(self.settings, WARM_UP_PROMPTS * WARM_UP_TOKENS / max(seconds, 1e-6))


class SimulatedQueue:
    def __init__(self, clock: VirtualClock, plan: WorkerPlan, finish: Callable[[Sequence[Job]], None]) -> None:
        """`finish` is called with the answers that leave a worker together."""
        self.num_open = 0  # accepted and unfinished
        self.sums = IterationSums()  # of all workers
        self._clock, self._plan, self._answer = clock, plan, finish
        self._model = WorkerModel(plan.costs.forward, plan.costs.worker, plan.costs.hop_s, self.sums)
        self._queue: deque[Job] = deque()
        self._claims: deque[SimulatedWorker] = deque()
        self._workers: list[SimulatedWorker] = []
        self.reserved_tokens = 0

    def accept(self, jobs: Sequence[Job]) -> None:
        """The sentences of a request."""
        self.num_open += len(jobs)
        self.reserved_tokens += sum([job.request.reserved_tokens for job in jobs])
        self._queue += jobs
        while self._queue and self._claims:
            self._give(self._claims.popleft())

    def _claim(self, worker: SimulatedWorker) -> None:
        if self._queue:
            self._give(worker)
        else:
            self._claims.append(worker)

    def _give(self, worker: SimulatedWorker) -> None:
        """Its share of the queue, as far as it fits; as worker/queue/lua/take.lua does."""
        tokens, number = worker.room
        number = min(number, -(-len(self._queue) // len(self._workers)))
        jobs: list[Job] = []
        while len(jobs) < number and self._queue[0].request.reserved_tokens <= tokens:
            jobs.append(self._queue.popleft())
            tokens -= jobs[-1].request.reserved_tokens
        worker.deliver(jobs)

    def _finish(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.sums.add_request(job.request, job.num_output, queue_s=0.0)
            self.num_open -= 1
            self.reserved_tokens -= job.request.reserved_tokens
        self._answer(jobs)

    def start(self, number: int) -> None:
        """Start so many workers."""
        self._workers = [self._new_worker() for _ in range(number)]
        for worker in self._workers:
            worker.start()

    def _new_worker(self) -> SimulatedWorker:
        return SimulatedWorker(self._clock, self._plan.policy(), self._model, self._claim, self._finish)

    @property
    def busy_s(self) -> float:
        return sum(worker.busy_s for worker in self._workers)
