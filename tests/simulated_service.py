"""A service on the virtual clock of `miniserve plan`: a queue, workers with the real policy, costs by formula.

It keeps the books that the scripts in Redis keep and shows them once a second, so that what is computed from them can
be compared with what really happened.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ops.plan.clock import VirtualClock
from ops.plan.mix import SentenceSize
from ops.plan.queue import SimulatedQueue
from ops.plan.worker import Job, WorkerModel, job_of
from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.observations import IterationSums

MAX_OUTPUT_TOKENS = 32
HISTORY = 120  # moments


@dataclass(slots=True)
class CostModel:
    """Seconds of an iteration: `fixed_s` + so much for each prompt token and each decode step."""

    dice: random.Random
    fixed_s: float = 0.03
    prompt_s: float = 0.0005
    decode_s: float = 0.0010
    noise: float = 0.2  # relative standard deviation

    def seconds(self, prompt_tokens: int, num_decodes: int) -> float:
        mean = self.fixed_s + self.prompt_s * prompt_tokens + self.decode_s * num_decodes
        return mean * max(0.2, self.dice.gauss(1.0, self.noise))


class Service:
    """`draw` tells when the next request comes, given the time; `lose` says whose end the books forget to note."""

    def __init__(
        self,
        draw: Callable[[float], float],
        limits: BatchLimits = BatchLimits(4096, 256, 512),  # noqa: B008 - frozen
        num_workers: int = 1,
        seed: int = 0,
        lose: Callable[[int], bool] = lambda number: False,
    ) -> None:
        self.waits: list[tuple[float, float]] = []  # of all admitted: arrival, seconds until then
        self._draw, self._limits, self._lose = draw, limits, lose
        self._dice, self._clock = random.Random(seed), VirtualClock()
        self._sums = IterationSums()
        model = WorkerModel(CostModel(self._dice), 0.0, self._note)
        policies = [ContinuousBatching(limits) for _ in range(num_workers)]
        self._queue = SimulatedQueue(self._clock, model, policies, self._end)
        self._history: deque[Moment] = deque(maxlen=HISTORY)
        self._area_s = self._stay_s = self._noted_s = 0.0
        self._accepted = self._ended = self._reserved = 0

    def seconds(self, last_s: float) -> Iterator[Observed]:
        """Run until then; what is to be seen at the end of every second."""
        self._expect()
        for second in range(1, int(last_s) + 1):
            is_over: list[bool] = []
            self._clock.after(second - self._clock.now, lambda is_over=is_over: is_over.append(True))
            while not is_over:
                self._clock.step()
            self._pass_time()
            yield self._observed()
            self._history.append(self._moment())

    def _expect(self) -> None:
        self._clock.after(self._draw(self._clock.now) - self._clock.now, self._arrive)

    def _arrive(self) -> None:
        self._expect()
        self._pass_time()
        size = SentenceSize(self._dice.randint(8, 28), _num_outputs(self._dice))
        job = job_of(str(self._accepted), size, self._clock.now, None)
        self._accepted += 1
        self._reserved += job.request.reserved_tokens
        self._queue.accept([job])

    def _note(self, plan: StepPlan, seconds: float) -> None:
        now, prompts = self._clock.now, sum(len(sequence.request.prompt_ids) for sequence in plan.prefills)
        self._sums.add_iteration(prompts, len(plan.decodes), seconds)
        self.waits.extend((now - sequence.queue_s, sequence.queue_s) for sequence in plan.prefills)

    def _end(self, jobs: Sequence[Job]) -> None:
        self._pass_time()
        for job in jobs:
            self._sums.add_request(job.request, job.num_output, queue_s=0.0)
            if self._lose(int(job.request.request_id)):
                continue
            self._stay_s += self._clock.now - job.accepted_s
            self._ended += 1
            self._reserved -= job.request.reserved_tokens

    def _pass_time(self) -> None:
        self._area_s += (self._accepted - self._ended) * (self._clock.now - self._noted_s)
        self._noted_s = self._clock.now

    def _moment(self) -> Moment:
        sums = asdict(self._sums)
        return Moment(self._clock.now, self._area_s, self._stay_s, self._accepted, self._ended, sums)

    def _observed(self) -> Observed:
        limits, policies = self._limits, [worker.policy for worker in self._queue.workers]
        bounds = limits.kv_budget_tokens, limits.max_slots, limits.max_prefill_rows
        facts = tuple(
            WorkerFacts(f"worker-{number}", len(one.running), len(one.waiting), one.reserved_tokens, *bounds)
            for number, one in enumerate(policies)
        )
        running = sum(len(one.running) for one in policies)
        return Observed(
            now=self._moment(),
            history=tuple(self._history),
            workers=facts,
            queue_depth=len(self._queue.waiting),
            num_waiting=self._queue.num_open - running,
            num_running=running,
            reserved_tokens=self._reserved,
        )


def _num_outputs(dice: random.Random) -> int:
    """Half of the answers have four tokens at most, one in twenty twelve and more."""
    return min(MAX_OUTPUT_TOKENS, 1 + int(dice.expovariate(1 / 3.9)))
