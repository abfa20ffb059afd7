"""Two pools on the virtual clock: some workers read prompts, others decode what these have read.

As in worker/pools: what was read keeps its room with the prefill worker until a decode worker has taken it over, which
claims offers as any worker claims requests. Packing, storing and loading the keys and values take their measured time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from ops.plan.clock import Process, VirtualClock
from ops.plan.costs import HandoffCost
from ops.plan.queue import SimulatedQueue, WorkerPlan
from ops.plan.worker import Job, SimulatedWorker
from scheduler.batching import StepPlan
from scheduler.messages import Delivery
from scheduler.pools import DecodeBatching, Handed, HandedDelivery, PrefillBatching

_TOLD_S = 0.05  # until a prefill worker hears of it: with its next DRAIN, for which a claim stands as long as this
_FIRST_TOKEN = 2  # any that is not <eos>


class PrefillWorker(SimulatedWorker):
    """Reads prompts and offers them; what the first token ends is answered from here."""

    offer: Callable[[PrefillWorker, list[Job]], None]
    handoff: HandoffCost

    def taken(self, job: Job) -> None:
        """A decode worker has it."""
        del self._jobs[job.request.request_id]
        self.policy.cancel(job.request.request_id)
        if not self._is_computing:
            self._turn()

    def _more_s(self, plan: StepPlan) -> float:
        return sum(self.handoff.pack.seconds(len(job.request.prompt_ids)) for job in self._read(plan))

    def _commit(self, plan: StepPlan) -> None:
        if read := self._read(plan):
            self.offer(self, read)
        super()._commit(plan)

    def _read(self, plan: StepPlan) -> list[Job]:
        jobs = [self._jobs[sequence.request_id] for sequence in plan.prefills]
        return [job for job in jobs if job.num_output > 1]


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
    """A queue with prefill workers, and decode workers for what these offer."""

    def __init__(
        self, clock: VirtualClock, plan: WorkerPlan, finish: Callable[[Sequence[Job]], None], redis: Process
    ) -> None:
        super().__init__(clock, plan, finish)
        self._redis = redis
        self._decoders: list[SimulatedWorker] = []
        self._offers: deque[tuple[PrefillWorker, Job]] = deque()
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
        limits = self._plan.policy().limits
        worker = PrefillWorker(self._clock, PrefillBatching(limits), self._model, self._claim, self._finish)
        worker.offer, worker.handoff = self._store, self._plan.costs.handoff
        return worker

    def _store(self, owner: PrefillWorker, jobs: list[Job]) -> None:
        costs = self._plan.costs
        for job in jobs:
            work_s = costs.handoff.redis.seconds(len(job.request.prompt_ids)) + costs.redis.sentence_s
            then = partial(self._redis.put, work_s, partial(self._offer, owner, job))
            self._clock.after(costs.hop_s, then)

    def _offer(self, owner: PrefillWorker, job: Job) -> None:
        self._offers.append((owner, job))
        if self._looks:
            self._take_over(self._looks.popleft())

    def _look(self, worker: SimulatedWorker) -> None:
        if self._offers:
            self._take_over(worker)
        else:
            self._looks.append(worker)

    def _take_over(self, worker: SimulatedWorker) -> None:
        """All offers that fit; as worker/queue/lua/take_over.lua does."""
        tokens, number = worker.room
        jobs: list[Job] = []
        while self._offers and len(jobs) < number and self._offers[0][1].request.reserved_tokens <= tokens:
            owner, job = self._offers.popleft()
            tokens -= job.request.reserved_tokens
            jobs.append(job)
            self._clock.after(_TOLD_S, partial(owner.taken, job))
        worker.deliver(jobs)
