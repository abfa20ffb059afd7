"""A service that serves on a virtual clock: one queue, workers with the real batching policy, a linear cost model.

It keeps the books that the scripts in Redis keep and shows them once a second, so that what is computed from them can
be compared with what really happened.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.messages import EOS_ID, CorrectionRequest, Delivery
from scheduler.observations import DECODE_WORK

WORD = 7  # any token that is not <eos>
MAX_OUTPUT_TOKENS = 32
HISTORY = 120  # moments
PROMPTS = [(WORD,) * length for length in range(64)]


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds of an iteration: `fixed_s` + so much for each prompt token and each decode step."""

    fixed_s: float = 0.03
    prompt_s: float = 0.0005
    decode_s: float = 0.0010
    noise: float = 0.0  # relative standard deviation

    def seconds(self, prompt_tokens: int, decodes: int, dice: random.Random) -> float:
        mean = self.fixed_s + self.prompt_s * prompt_tokens + self.decode_s * decodes
        return mean * max(0.2, dice.gauss(1.0, self.noise)) if self.noise else mean


@dataclass(slots=True)
class _Worker:
    policy: ContinuousBatching
    plan: StepPlan | None = None
    begun_s: float = 0.0
    cost_s: float = 0.0


@dataclass(slots=True)
class Service:
    """`rate(now)` is the offered load in requests/s; `lose` says of which requests the books forget to note the end."""

    rate: Callable[[float], float]
    most_rate: float
    costs: CostModel = CostModel()
    limits: BatchLimits = BatchLimits(4096, 256, 512)
    num_workers: int = 1
    seed: int = 0
    lose: Callable[[int], bool] = lambda number: False
    now: float = 0.0
    waits: list[tuple[float, float]] = field(default_factory=list)  # of all admitted: arrival, seconds until then
    stays: list[tuple[float, float]] = field(default_factory=list)
    history: deque[Moment] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _dice: random.Random = field(init=False)
    _queue: deque[tuple[float, CorrectionRequest]] = field(default_factory=deque)
    _lengths: dict[str, int] = field(default_factory=dict)
    _arrived_s: dict[str, float] = field(default_factory=dict)
    _events: list[tuple[float, int, str]] = field(default_factory=list)
    _workers: list[_Worker] = field(init=False)
    _sums: dict[str, float] = field(init=False)
    _area_s: float = 0.0
    _stay_s: float = 0.0
    _accepted: int = 0
    _ended: int = 0
    _reserved: int = 0
    _noted_s: float = 0.0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._workers = [_Worker(ContinuousBatching(self.limits)) for _ in range(self.num_workers)]
        names = "n t tt p d work work2 work_t requests outputs reserved prompts"
        self._sums = dict.fromkeys(names.split(), 0.0)
        heapq.heappush(self._events, (self._dice.expovariate(self.most_rate), -1, "arrival"))
        heapq.heappush(self._events, (1.0, -2, "second"))

    def seconds(self, last_s: float) -> Iterator[Observed]:
        """Run until then; what is to be seen at the end of every second."""
        while self._events[0][0] <= last_s:
            at_s, who, what = heapq.heappop(self._events)
            self._pass_time(at_s)
            if what == "second":
                heapq.heappush(self._events, (at_s + 1.0, who, what))
                yield self._observed()
                self.history.append(self._moment())
            elif what == "arrival":
                self._arrive()
            else:
                self._commit(self._workers[who])
                self._begin(who)

    def _pass_time(self, at_s: float) -> None:
        self._area_s += (self._accepted - self._ended) * (at_s - self.now)
        self.now = at_s

    def _arrive(self) -> None:
        heapq.heappush(self._events, (self.now + self._dice.expovariate(self.most_rate), -1, "arrival"))
        if self._dice.random() * self.most_rate > self.rate(self.now):
            return  # thinned: Lewis & Shedler 1979
        name = str(self._accepted)
        length = self._dice.randint(8, 28)
        request = CorrectionRequest(name, PROMPTS[length], PROMPTS[length], MAX_OUTPUT_TOKENS, "tokenizer")
        self._lengths[name] = _num_outputs(self._dice)
        self._arrived_s[name] = self.now
        self._accepted += 1
        self._reserved += request.reserved_tokens
        self._queue.append((self.now, request))
        for who, worker in enumerate(self._workers):
            if worker.plan is None and self._queue:
                self._begin(who)

    def _begin(self, who: int) -> None:
        """Drain what fits; then the next iteration, if there is anything to compute."""
        worker = self._workers[who]
        free, share = worker.policy.free_tokens, -(-len(self._queue) // self.num_workers)
        while self._queue and share > 0 and self._queue[0][1].reserved_tokens <= free:
            free -= self._queue[0][1].reserved_tokens
            arrived_s, request = self._queue.popleft()
            worker.policy.submit(Delivery(request, 1, self.now - arrived_s), self.now)
            share -= 1
        worker.plan = None
        if worker.policy.has_work:
            self._plan(worker, who)

    def _plan(self, worker: _Worker, who: int) -> None:
        plan = worker.plan = worker.policy.plan(self.now)
        self.waits.extend((self.now - sequence.queue_s, sequence.queue_s) for sequence in plan.prefills)
        prompts = sum(len(sequence.request.prompt_ids) for sequence in plan.prefills)
        cost_s = self.costs.seconds(prompts, len(plan.decodes), self._dice)
        worker.begun_s, worker.cost_s = self.now, cost_s
        heapq.heappush(self._events, (self.now + cost_s, who, "iteration"))

    def _commit(self, worker: _Worker) -> None:
        plan = worker.plan
        tokens = [
            EOS_ID if len(sequence.output_ids) + 1 >= self._lengths[sequence.request_id] else WORD for sequence in plan
        ]
        prompts = sum(len(sequence.request.prompt_ids) for sequence in plan.prefills)
        self._note(worker.cost_s, prompts, len(plan.decodes))
        for sequence, _ in worker.policy.commit(plan, tokens, self.now):
            self._end(sequence.request, len(sequence.output_ids))

    def _note(self, t: float, p: int, d: int) -> None:
        work = p + DECODE_WORK * d
        products = {"tt": t * t, "work": work, "work2": work * work, "work_t": work * t}
        for name, value in ({"n": 1, "t": t, "p": p, "d": d} | products).items():
            self._sums[name] += value

    def _end(self, request: CorrectionRequest, num_outputs: int) -> None:
        for name, value in (
            ("requests", 1),
            ("outputs", num_outputs),
            ("reserved", request.reserved_tokens),
            ("prompts", len(request.prompt_ids)),
        ):
            self._sums[name] += value
        arrived_s = self._arrived_s.pop(request.request_id)
        del self._lengths[request.request_id]
        if self.lose(int(request.request_id)):
            return
        self.stays.append((arrived_s, self.now - arrived_s))
        self._stay_s += self.now - arrived_s
        self._ended += 1
        self._reserved -= request.reserved_tokens

    def _moment(self) -> Moment:
        return Moment(self.now, self._area_s, self._stay_s, self._accepted, self._ended, dict(self._sums))

    def _observed(self) -> Observed:
        facts = tuple(
            WorkerFacts(
                f"worker-{number}",
                len(worker.policy.running),
                len(worker.policy.waiting),
                worker.policy.reserved_tokens,
                self.limits.kv_budget_tokens,
                self.limits.max_slots,
                self.limits.max_prefill_rows,
            )
            for number, worker in enumerate(self._workers)
        )
        running = sum(len(worker.policy.running) for worker in self._workers)
        return Observed(
            now=self._moment(),
            history=tuple(self.history),
            workers=facts,
            queue_depth=len(self._queue),
            num_waiting=len(self._queue) + sum(len(worker.policy.waiting) for worker in self._workers),
            num_running=running,
            reserved_tokens=self._reserved,
        )


def _num_outputs(dice: random.Random) -> int:
    """Half of the answers have four tokens at most, one in twenty twelve and more."""
    return min(MAX_OUTPUT_TOKENS, 1 + int(dice.expovariate(1 / 3.9)))
