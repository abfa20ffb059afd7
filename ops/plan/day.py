"""A simulated day of a service with shards: a daily wave, a burst, a shard that fails, and an autoscaler in the loop.

The shipped model would serve a million requests a day with a hundredth of one worker. The day is therefore that of a
model 450 times as expensive, with a cache for ten sequences; its workers do about two requests a second. API
and Redis take no time beside that. Every request passes the batching policy that serves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np

from ops.plan.autoscaling import LOOK_EVERY_S, Autoscaler, Rule, Seen
from ops.plan.clock import VirtualClock
from ops.plan.costs import Calibration
from ops.plan.mix import Mix
from ops.plan.shard import MOMENT_EVERY_S, Shard, ShardPlan
from ops.plan.sizing import sentence_s, slower
from ops.plan.worker import Job, job_of
from scheduler.capacity.measure import Goals, measure
from scheduler.settings import Settings

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
ROW_S = 60.0


@dataclass(frozen=True, slots=True)
class DayPlan:
    """What happens, in hours of the day."""

    num_requests: int = 1_000_000
    begin_h: float = 0.0
    end_h: float = 24.0
    peak_h: float = 14.0
    swing: float = 0.7  # of the wave, as a share of the mean
    burst_h: float = 17.0
    burst_minutes: float = 20.0
    burst_times: float = 2.0
    fails_h: float = 11.0
    fails_minutes: float = 30.0
    num_shards: int = 3
    times_slower: float = 450.0
    start_s: float = 30.0  # of a worker
    retry_s: float = 1.0  # until a client whose shard has failed asks again
    deadline_s: float = 30.0
    settings: Settings = field(
        default_factory=lambda: Settings(kv_budget_tokens=512, slo_ms=1500.0, max_stall_ms=5000.0)
    )

    def rate(self, at_s: np.ndarray) -> np.ndarray:
        """Requests per second, but for a factor."""
        hours = at_s / HOUR_S
        wave = 1 + self.swing * np.cos((hours - self.peak_h) * np.pi / 12)
        in_burst = (hours >= self.burst_h) & (hours < self.burst_h + self.burst_minutes / 60)
        return wave * np.where(in_burst, self.burst_times, 1.0)

    def arrivals_s(self, seed: int) -> np.ndarray:
        """So many in all of the day, of which those within the simulated hours: a Poisson process, given its number."""
        at_s = np.linspace(0.0, DAY_S, 86_401)
        total = np.concatenate([[0.0], np.cumsum(self.rate((at_s[1:] + at_s[:-1]) / 2))])
        times = np.interp(np.random.default_rng(seed).random(self.num_requests) * total[-1], total, at_s)
        times.sort()
        return times[(times >= self.begin_h * HOUR_S) & (times < self.end_h * HOUR_S)]


@dataclass(slots=True)
class Minute:
    """What happened in one, with all shards together."""

    at_s: float
    offered: int = 0
    refused: int = 0
    retried: int = 0
    workers: int = 0  # at its end, those that start included
    open: int = 0
    latencies_s: list[float] = field(default_factory=list)

    @property
    def p95_s(self) -> float | None:
        """None where nothing was answered."""
        ordered = sorted(self.latencies_s)
        return ordered[int(0.95 * len(ordered))] if ordered else None


class SimulatedDay:
    """One rule through one day. `run` returns its minutes."""

    def __init__(self, plan: DayPlan, rule: Rule, costs: Calibration, mix: Mix, seed: int = 0) -> None:
        self.clock = clock = VirtualClock()
        clock.now = plan.begin_h * HOUR_S
        self.worker_s = 0.0  # of all workers
        self._plan, self._rule, self._mix = plan, rule, mix
        self._dice = random.Random(seed)
        self._arrivals_s = iter(plan.arrivals_s(seed).tolist())
        costs = slower(costs, plan.times_slower)
        shard_plan = ShardPlan(costs, plan.settings, plan.start_s)
        self._shards = [Shard(clock, shard_plan, self._end) for _ in range(plan.num_shards)]
        self._scalers = [Autoscaler() for _ in self._shards]
        self._goals = Goals(plan.settings.slo_ms / 1e3, plan.deadline_s)
        self._open_a_worker = plan.deadline_s / sentence_s(costs.forward, costs.worker, mix, plan.settings)
        self._numbers = count()
        self._minutes = [Minute(clock.now)]

    def run(self, told: Callable[[float], None] = lambda at_s: None) -> list[Minute]:
        """`told` hears of the time now and then."""
        plan, end_s = self._plan, self._plan.end_h * HOUR_S
        for shard, scaler in zip(self._shards, self._scalers, strict=True):
            shard.resize(scaler.behaviour.least)
        self._every(MOMENT_EVERY_S, self._note_moments)
        self._every(LOOK_EVERY_S, self._scale)
        self._every(ROW_S, self._end_minute)
        if plan.begin_h <= plan.fails_h < plan.end_h:
            self._at(plan.fails_h * HOUR_S, self._fail)
            self._at(plan.fails_h * HOUR_S + 60 * plan.fails_minutes, self._shards[-1].come_back)
        self._expect_next()
        clock = self.clock
        while clock.now < end_s:
            for _ in range(10_000):
                clock.step()
            told(min(clock.now, end_s))
        return [minute for minute in self._minutes if minute.at_s < end_s]

    def _at(self, at_s: float, then: Callable[[], None]) -> None:
        self.clock.after(at_s - self.clock.now, then)

    def _every(self, period_s: float, do: Callable[[], None]) -> None:
        def again() -> None:
            do()
            self.clock.after(period_s, again)

        self.clock.after(period_s, again)

    # Requests.

    def _expect_next(self) -> None:
        at_s = next(self._arrivals_s, None)
        if at_s is not None:
            self._at(at_s, self._arrive)

    def _arrive(self) -> None:
        self._minutes[-1].offered += 1
        for size in self._mix.draw(self._dice):
            self._accept(job_of(str(next(self._numbers)), size, self.clock.now, None))
        self._expect_next()

    def _accept(self, job: Job) -> None:
        """By the shard whose workers have the shortest backlog now; refused where the answer would come too late."""
        shard = min(self._shards, key=_backlog)
        if shard.num_open >= max(1, shard.num_live) * self._open_a_worker or not shard.is_alive:
            self._minutes[-1].refused += 1
        else:
            shard.accept([job])

    def _end(self, jobs: Sequence[Job]) -> None:
        now, latencies_s = self.clock.now, self._minutes[-1].latencies_s
        for job in jobs:
            latencies_s.append(now - job.accepted_s)

    def _fail(self) -> None:
        lost = self._shards[-1].fail()
        self._minutes[-1].retried += len(lost)
        for job in lost:
            self.clock.after(self._plan.retry_s, partial(self._accept, job))

    # Workers.

    def _note_moments(self) -> None:
        for shard in self._shards:
            if shard.is_alive:
                shard.note_moment()

    def _scale(self) -> None:
        for shard, scaler in zip(self._shards, self._scalers, strict=True):
            if shard.is_alive:  # nobody knows the numbers of one that is not, so nothing is scaled
                observed = shard.observed()
                seen = Seen(
                    observed, partial(measure, observed, self._goals), self._goals, self._plan.settings.kv_budget_tokens
                )
                shard.resize(scaler.next_number(self.clock.now, shard.num_wanted, self._rule(seen)))
            self.worker_s += shard.num_wanted * LOOK_EVERY_S

    def _end_minute(self) -> None:
        minute = self._minutes[-1]
        minute.workers = sum(shard.num_wanted for shard in self._shards)
        minute.open = sum(shard.num_open for shard in self._shards)
        self._minutes.append(Minute(self.clock.now))


def _backlog(shard: Shard) -> float:
    return shard.num_open / max(1, shard.num_live) if shard.is_alive else float("inf")
