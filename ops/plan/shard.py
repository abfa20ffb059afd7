"""A queue and its workers on the virtual clock, and the books that Redis keeps of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial

from ops.plan.clock import VirtualClock
from ops.plan.costs import Calibration
from ops.plan.worker import Job, SimulatedWorker, WorkerModel
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.messages import Timings
from scheduler.observations import IterationSums
from scheduler.settings import Settings
from worker.engine import policy_for

HISTORY_S, MOMENT_EVERY_S = 120.0, 2.0
_NO_TIMES = Timings()  # which nothing here reads
_SUMS = tuple(spec.name for spec in fields(IterationSums))


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """What its workers are like."""

    costs: Calibration
    settings: Settings
    start_s: float = 0.0  # of a new worker, until it serves


class Shard:
    """Its number of workers can be changed, and all of it can fail and come back."""

    def __init__(self, clock: VirtualClock, plan: ShardPlan, finish: Callable[[Sequence[Job]], None]) -> None:
        """`finish` is called with the answers that leave a worker together."""
        self.is_alive = True
        self.num_open = self.num_live = 0  # accepted and unfinished; workers that serve
        self.num_wanted = 0  # workers, those that start included
        self.sums = IterationSums()  # of all workers
        self._clock, self._plan, self._answer = clock, plan, finish
        self._model = WorkerModel(plan.costs.forward, plan.costs.worker, plan.costs.hop_s, self.sums)
        self._queue: deque[Job] = deque()
        self._claims: deque[SimulatedWorker] = deque()
        self._workers: list[SimulatedWorker] = []
        self._leaving: list[SimulatedWorker] = []
        self._num_starting = 0
        self._generation = 0  # of workers: those of before a failure never start
        self.reserved_tokens = 0
        self._area_s = self._stay_s = self._noted_s = 0.0
        self._num_accepted = self._num_ended = 0
        self._history: deque[Moment] = deque(maxlen=int(HISTORY_S / MOMENT_EVERY_S))

    # Requests.

    def accept(self, jobs: Sequence[Job]) -> None:
        """The sentences of a request."""
        self._pass_time()
        self.num_open += len(jobs)
        self._num_accepted += len(jobs)
        self.reserved_tokens += sum([job.request.reserved_tokens for job in jobs])
        self._queue += jobs
        while self._queue and self._claims:
            self._give(self._claims.popleft())

    def _claim(self, worker: SimulatedWorker) -> None:
        if not worker.takes_work:
            return
        if self._queue:
            self._give(worker)
        else:
            self._claims.append(worker)

    def _give(self, worker: SimulatedWorker) -> None:
        """Its share of the queue, as far as it fits; as worker/mailbox/lua/drain.lua does."""
        tokens, number = worker.room
        number = min(number, -(-len(self._queue) // max(1, self.num_live)))
        jobs: list[Job] = []
        while len(jobs) < number and self._queue[0].request.reserved_tokens <= tokens:
            jobs.append(self._queue.popleft())
            tokens -= jobs[-1].request.reserved_tokens
        worker.deliver(jobs)

    def _finish(self, jobs: Sequence[Job]) -> None:
        self._pass_time()
        for job in jobs:
            self.sums.add_request(job.request, job.num_output, _NO_TIMES)
            self.num_open -= 1
            self._num_ended += 1
            self.reserved_tokens -= job.request.reserved_tokens
            self._stay_s += self._clock.now - job.accepted_s
        self._answer(jobs)

    def _pass_time(self) -> None:
        now = self._clock.now
        self._area_s += self.num_open * (now - self._noted_s)
        self._noted_s = now

    # Workers.

    def resize(self, number: int) -> None:
        """Start some, or let some finish what they hold and go."""
        missing = number - self.num_wanted
        self.num_wanted = number
        for _ in range(missing):
            self._num_starting += 1
            self._clock.after(self._plan.start_s, partial(self._start, self._generation))
        for _ in range(-missing):
            if self._num_starting:
                self._num_starting -= 1
            else:
                self._let_go()

    def _start(self, generation: int) -> None:
        if generation == self._generation and self._num_starting:
            self._num_starting -= 1
            worker = self._new_worker()
            self._workers.append(worker)
            self.num_live += 1
            worker.start()

    def _new_worker(self) -> SimulatedWorker:
        return SimulatedWorker(self._clock, policy_for(self._plan.settings), self._model, self._claim, self._finish)

    def _let_go(self) -> None:
        worker = self._workers.pop()
        worker.is_leaving = True
        self._leaving = [one for one in (*self._leaving, worker) if not one.is_idle]
        self.num_live -= 1
        if worker in self._claims:
            self._claims.remove(worker)

    def fail(self) -> list[Job]:
        """Return all that is open: its clients send it again."""
        self._pass_time()
        lost = [*self._queue, *(job for worker in (*self._workers, *self._leaving) for job in worker.die())]
        self.is_alive = False
        self._queue.clear()
        self._claims.clear()
        self._workers.clear()
        self._leaving.clear()
        self._history.clear()
        self._generation += 1
        self.num_open = self.num_live = self._num_starting = self.reserved_tokens = 0
        return lost

    def come_back(self) -> None:
        """Empty, with as many workers as it had."""
        self._pass_time()
        self.is_alive = True
        number, self.num_wanted = self.num_wanted, 0
        self.resize(number)

    @property
    def busy_s(self) -> float:
        """Work of the workers that are here."""
        return sum(worker.busy_s for worker in self._workers)

    # What is observed.

    def note_moment(self) -> None:
        self._history.append(self._moment())

    def _moment(self) -> Moment:
        self._pass_time()
        sums = {name: getattr(self.sums, name) for name in _SUMS}
        return Moment(self._clock.now, self._area_s, self._stay_s, self._num_accepted, self._num_ended, sums)

    def observed(self) -> Observed:
        """As one look at Redis shows it."""
        policies = [worker.policy for worker in self._workers]
        limits = [policy.limits for policy in policies]
        facts = tuple(
            WorkerFacts(
                str(number), len(policy.running), len(policy.waiting), policy.reserved_tokens, one.kv_budget_tokens,
                one.max_slots, one.max_stall_s,
            )
            for number, (policy, one) in enumerate(zip(policies, limits, strict=True))
        )  # fmt: skip
        running = sum(len(worker.policy.running) for worker in (*self._workers, *self._leaving))
        return Observed(
            now=self._moment(), history=tuple(self._history), workers=facts, queue_depth=len(self._queue),
            num_waiting=self.num_open - running, num_running=running, reserved_tokens=self.reserved_tokens,
        )  # fmt: skip
