"""The whole system on a virtual clock: API replicas, one Redis, workers with the policy that serves.

A request goes replica -> Redis -> worker, and back in no time but that of the hops: what replica and Redis do for its
answer counts on its way in. They do one thing after the other; a worker forms batches. Processes have a core each, or
share some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

from ops.load.arrivals import Arrivals
from ops.plan.clock import Process, VirtualClock
from ops.plan.costs import Calibration
from ops.plan.mix import Mix, Text
from ops.plan.queue import SimulatedQueue, policy_of
from ops.plan.worker import Job, SimulatedWorker, WorkerModel, job_of
from scheduler.settings import Settings

_FEW_LEFT, _MOST_LEFT = 50, 0.03  # requests, and share of them: what a stable queue may have more at the end


@dataclass(frozen=True, slots=True)
class Deployment:
    """What runs."""

    workers: int = 1
    replicas: int = 1  # API processes
    cores: float = inf  # that all of it shares; inf: each process has one
    settings: Settings = field(default_factory=Settings)


@dataclass(slots=True)
class Outcome:
    """What happened, without the beginning."""

    latencies_s: list[float]
    num_refused: int
    num_open: int  # at the beginning
    num_left_behind: int  # by which more came than ended
    seconds: float
    busy: dict[str, float]  # by stage: share of one process's time

    @property
    def throughput_per_s(self) -> float:
        return len(self.latencies_s) / self.seconds if self.seconds > 0 else 0.0

    @property
    def is_overloaded(self) -> bool:
        """Whether the queue grows: how long a request then waits is a matter of how long one looks."""
        return self.num_left_behind > self.num_open / 2 + max(_FEW_LEFT, _MOST_LEFT * len(self.latencies_s))

    def quantile_s(self, share: float) -> float:
        """Infinite where nothing was answered, or more was asked than can be."""
        if not self.latencies_s or self.num_refused or self.is_overloaded:
            return inf
        return sorted(self.latencies_s)[min(len(self.latencies_s) - 1, int(share * len(self.latencies_s)))]


@dataclass(slots=True, eq=False)
class _Request:
    number: int
    due_s: float
    text: Text
    num_left: int


class Service:
    """One system. `run` serves so many requests of some traffic."""

    def __init__(self, deployment: Deployment, costs: Calibration, mix: Mix) -> None:
        self.clock = clock = VirtualClock(deployment.cores)
        self._costs, self._mix, self._settings = costs, mix, deployment.settings
        self._redis = Process(clock)
        self._replicas = [Process(clock) for _ in range(deployment.replicas)]
        model = WorkerModel(costs.worker, costs.hop_s)
        policies = [policy_of(costs, deployment.settings) for _ in range(deployment.workers)]
        self._queue = SimulatedQueue(clock, model, policies, self._send_answers)
        self._stages: dict[str, Sequence[Process | SimulatedWorker]] = {
            "api": self._replicas, "redis": [self._redis], "worker": self._queue.workers,
        }  # fmt: skip
        self._arrivals: Arrivals
        self._latencies_s: list[float] = []
        self._num_begun = self._num_refused = 0

    def run(self, arrivals: Arrivals, num_requests: int, warm_up: float = 0.1) -> Outcome:
        """Serve until so many requests have ended; the share `warm_up` of them does not count."""
        self._arrivals = arrivals
        for _ in range(1 if arrivals.is_open else arrivals.max_connections):
            self._expect(arrivals.draw(0.0))
        self._serve(round(warm_up * num_requests))
        begin_s, busy_s = self.clock.now, self._busy_s()
        num_before, refused_before, open_before = len(self._latencies_s), self._num_refused, self._num_open
        self._serve(num_requests)
        latencies_s, seconds = self._latencies_s[num_before:], self.clock.now - begin_s
        in_all_s = {name: max(seconds, 1e-9) * len(some) for name, some in self._stages.items()}
        return Outcome(
            latencies_s, self._num_refused - refused_before, open_before, self._num_open - open_before, seconds,
            {name: (now - busy_s[name]) / in_all_s[name] for name, now in self._busy_s().items()},
        )  # fmt: skip

    @property
    def _num_open(self) -> int:
        return self._num_begun - len(self._latencies_s) - self._num_refused

    def _serve(self, num_requests: int) -> None:
        while len(self._latencies_s) + self._num_refused < num_requests and self.clock.step():
            pass

    def _busy_s(self) -> dict[str, float]:
        return {stage: sum(one.busy_s for one in some) for stage, some in self._stages.items() if some}

    def _expect(self, due_s: float) -> None:
        self.clock.after(max(0.0, due_s - self.clock.now), partial(self._begin, due_s))

    def _begin(self, due_s: float) -> None:
        if self._arrivals.is_open:
            self._expect(self._arrivals.draw(self.clock.now))
        text = self._mix.texts[self._num_begun % len(self._mix.texts)]  # one after the other, as `loadtest` sends them
        replica = self._replicas[self._num_begun % len(self._replicas)]
        self._num_begun += 1
        if self._is_full(len(text)):
            self._num_refused += 1
            return
        accept = partial(self._accept, _Request(self._num_begun, due_s, text, len(text)))
        enqueue = partial(self._redis.put, self._costs.redis.of_request(len(text)), accept)
        replica.put(self._costs.api.of_request(len(text)), partial(self.clock.after, self._costs.hop_s, enqueue))

    def _is_full(self, num_sentences: int) -> bool:
        """The queue counts sentences, and the tokens that they reserve."""
        queue, settings = self._queue, self._settings
        return (
            queue.num_open + num_sentences > settings.max_queue_requests
            or queue.reserved_tokens > settings.max_queue_tokens
        )

    def _accept(self, request: _Request) -> None:
        now, name = self.clock.now, request.number
        self._queue.accept([job_of(f"{name}-{at}", size, now, request) for at, size in enumerate(request.text)])

    def _send_answers(self, jobs: Sequence[Job]) -> None:
        """A request ends with the answer of its last sentence."""
        for job in jobs:
            request: _Request = job.text
            request.num_left -= 1
            if not request.num_left:
                self.clock.after(2 * self._costs.hop_s, partial(self._end, request))

    def _end(self, request: _Request) -> None:
        self._latencies_s.append(self.clock.now - request.due_s)
        if not self._arrivals.is_open:
            self._begin(self.clock.now)
