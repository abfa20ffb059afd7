"""The smallest system that keeps a goal, found by serving the load on the virtual clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil, floor, inf

import click

from ops.load.arrivals import OpenLoop
from ops.plan.costs import Calibration
from ops.plan.mix import Mix
from ops.plan.service import Deployment, Outcome, Service
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.settings import Settings

MOST_BUSY = 0.8  # of workers and replicas: beyond it a small rise of the load is a long wait
MOST_BUSY_REDIS = 0.7  # it cannot be doubled within a minute, as the others can
_LEAST_GAIN = 0.98  # of p95: one process more that gains less than this does not help
_MOST_STEPS = 40


class GoalError(click.ClickException):
    """No number of processes keeps the goal: why, and what would."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Requests per second, and the time within which 95 of 100 are to be answered."""

    rate_per_s: float
    p95_s: float


class Sizer:
    """Tries sizes on the virtual clock, and remembers what happened."""

    def __init__(
        self, costs: Calibration, mix: Mix, cores: float = inf, settings: Settings | None = None,
        num_requests: int = 6000,
    ) -> None:  # fmt: skip
        """`cores`: that all processes share; `num_requests`: served for each size."""
        self.costs, self.mix, self.cores, self.settings = costs, mix, cores, settings or Settings()

        @cache
        def outcome(rate_per_s: float, size: Deployment) -> Outcome:
            return Service(size, costs, mix).run(OpenLoop(rate_per_s, seed=1), num_requests)

        self.outcome = outcome

    def p95_s(self, rate_per_s: float, size: Deployment) -> float:
        return self.outcome(rate_per_s, size).quantile_s(0.95)

    def least(self, rate_per_s: float) -> Deployment:
        """By utilization alone."""
        workers, replicas = (max(1, ceil(rate_per_s * each_s / MOST_BUSY)) for each_s in (self.worker_s, self.api_s))
        return Deployment(workers, replicas, self.cores, self.settings)

    def smallest(self, goal: Goal) -> Deployment:
        """Grow by one process at a time, whichever helps more. Raises GoalError where no size keeps the goal."""
        if wall := self._wall(goal.rate_per_s):
            raise GoalError(wall)
        p95_s = partial(self.p95_s, goal.rate_per_s)
        size = self.least(goal.rate_per_s)
        for _ in range(_MOST_STEPS):
            if (reached_s := p95_s(size)) <= goal.p95_s:
                return size
            more = replace(size, workers=size.workers + 1), replace(size, replicas=size.replicas + 1)
            larger = min(more, key=p95_s)
            if reached_s < inf and p95_s(larger) > _LEAST_GAIN * reached_s:
                break
            size = larger
        raise GoalError(self._why_not(goal, size))

    def _wall(self, rate_per_s: float) -> str:
        """What no number of processes can serve, by utilization alone; empty where there is none."""
        if rate_per_s * self.all_s > self.cores:
            return self._too_few_cores(rate_per_s)
        number = ceil(rate_per_s * self.redis_s / MOST_BUSY_REDIS)
        if number <= 1:
            return ""
        most_per_s = MOST_BUSY_REDIS / self.redis_s
        return (
            f"one Redis serves {most_per_s:,.0f} requests/s, not {rate_per_s:,g}; run {number} deployments behind a "
            f"balancer (docs/proxies.md), and plan each of them with --rate {floor(rate_per_s / number)}"
        )

    def _why_not(self, goal: Goal, size: Deployment) -> str:
        reached_s = self.p95_s(goal.rate_per_s, size)
        if reached_s == inf and self.cores == inf:
            return f"{goal.rate_per_s:,g} requests/s are more than the largest size that was tried serves; lower --rate"
        if reached_s == inf:
            return self._too_few_cores(goal.rate_per_s)
        return (
            f"--p95 {1e3 * goal.p95_s:g} cannot be kept at {goal.rate_per_s:,g} requests/s: the least is about "
            f"{1e3 * reached_s:.1f} ms, for a request takes that long however many processes there are; "
            f"raise --p95, shorten the sentences, or take faster machines"
        )

    def _too_few_cores(self, rate_per_s: float) -> str:
        return (
            f"{self.cores:g} cores cannot serve {rate_per_s:,g} requests/s: they take "
            f"{rate_per_s * self.all_s:,.1f} cores at least; lower --rate or give more --cores"
        )

    @property
    def api_s(self) -> float:
        """CPU of a request in a busy API process."""
        return self.costs.api.of_request(self.mix.sentences_per_text)

    @property
    def redis_s(self) -> float:
        return self.costs.redis.of_request(self.mix.sentences_per_text)

    @property
    def worker_s(self) -> float:
        """CPU of a request in a worker with as many sentences in its batch as the KV budget has room for."""
        prompt, output = self.mix.mean
        reserved = prompt + MAX_OUTPUT_TOKENS
        at_once = max(1.0, min(self.settings.max_slots, self.settings.kv_budget_tokens / reserved))
        cost = self.costs.worker
        own_s = cost.seconds(prompt, output - 1) - cost.iteration_s
        return self.mix.sentences_per_text * (own_s + output / at_once * cost.iteration_s)

    @property
    def all_s(self) -> float:
        return self.api_s + self.redis_s + self.worker_s
