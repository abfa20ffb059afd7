"""Two pools on the virtual clock: some workers read prompts, others decode what these have read.

As in worker/pools: what was read waits in a queue of its own, from which decode workers claim as any worker claims
requests. Packing, storing and loading the keys and values take their measured time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ops.plan.clock import Process, VirtualClock
from ops.plan.costs import HandoffCost
from ops.plan.queue import SimulatedQueue, WorkerPlan
from ops.plan.worker import Job, SimulatedWorker
from scheduler.batching import ContinuousBatching, StepPlan
from scheduler.messages import Delivery
from scheduler.pools import DecodeBatching, Handed, HandedDelivery
from worker.pools.prefill import MOST_READ

_FIRST_TOKEN = 2  # any that is not <eos>


class PrefillWorker(SimulatedWorker):
    """Reads prompts and gives them away; what the first token ends is answered from here."""

    give: Callable[[list[Job]], None]
    is_held_up: Callable[[], bool]
    handoff: HandoffCost

    @property
    def room(self) -> tuple[int, int]:
        return (0, 0) if self.is_held_up() else super().room

    def go_on(self) -> None:
        if not self._is_computing:
            self._turn()

    def _more_s(self, plan: StepPlan) -> float:
        jobs = [self._jobs[sequence.request_id] for sequence in plan.prefills]
        return sum(self.handoff.pack.seconds(len(job.request.prompt_ids)) for job in jobs if job.num_output > 1)

    def _turn(self) -> None:
        read = [*self.policy.running]
        for request_id in read:
            self.policy.cancel(request_id)
        self.give([self._jobs.pop(request_id) for request_id in read])
        super()._turn()


class DecodeWorker(SimulatedWorker):
    """Goes on from what was read elsewhere."""

    handoff: HandoffCost

    def _delivery(self, job: Job, now: float) -> Delivery:
        handed = Handed(_FIRST_TOKEN, 0.0, 0.0)
        return HandedDelivery(job.request, 1, now - job.accepted_s, handed=handed)

    def _more_s(self, plan: StepPlan) -> float:
        joined = self.policy.joined
        return sum(self.handoff.load.seconds(len(one.request.prompt_ids)) for one in joined)


class PooledQueue(SimulatedQueue):
    """A queue with prefill workers, and decode workers for what these have read."""

    def __init__(
        self, clock: VirtualClock, plan: WorkerPlan, finish: Callable[[Sequence[Job]], None], redis: Process
    ) -> None:
        super().__init__(clock, plan, finish)
        self._redis = redis
        self._decoders: list[SimulatedWorker] = []
        self._read: deque[Job] = deque()
        self._looks: deque[SimulatedWorker] = deque()  # claims of decode workers

    @property
    def busy_s(self) -> float:
        return super().busy_s + sum(worker.busy_s for worker in self._decoders)

    def add_decoders(self, number: int) -> None:
        limits = self._plan.policy().limits
        for _ in range(number):
            worker = DecodeWorker(self._clock, DecodeBatching(limits), self._model, self._look, self._finish)
            worker.handoff = self._plan.costs.handoff
            self._decoders.append(worker)
            worker.start()

    def _new_worker(self) -> SimulatedWorker:
        policy = ContinuousBatching(replace(self._plan.policy().limits, role="prefill"))
        worker = PrefillWorker(self._clock, policy, self._model, self._claim, self._finish)
        worker.give, worker.handoff = self._store, self._plan.costs.handoff
        worker.is_held_up = lambda: len(self._read) >= MOST_READ
        return worker

    def _store(self, jobs: list[Job]) -> None:
        costs = self._plan.costs
        for job in jobs:
            work_s = costs.handoff.redis.seconds(len(job.request.prompt_ids)) + costs.redis.sentence_s
            self._clock.after(costs.hop_s, partial(self._redis.put, work_s, partial(self._queue_read, job)))

    def _queue_read(self, job: Job) -> None:
        self._read.append(job)
        if self._looks:
            self._take_read(self._looks.popleft())

    def _look(self, worker: SimulatedWorker) -> None:
        if self._read:
            self._take_read(worker)
        else:
            self._looks.append(worker)

    def _take_read(self, worker: SimulatedWorker) -> None:
        """All that fit."""
        tokens, number = worker.room
        jobs: list[Job] = []
        while self._read and len(jobs) < number and self._read[0].request.reserved_tokens <= tokens:
            jobs.append(self._read.popleft())
            tokens -= jobs[-1].request.reserved_tokens
        worker.deliver(jobs)
        if len(self._read) < MOST_READ <= len(self._read) + len(jobs):
            for reader in self._workers:
                self._clock.after(self._plan.costs.hop_s, reader.go_on)
