"""The simulated day: every request has one end, a failed shard takes only its own share, chance repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ops.plan.autoscaling import by_arithmetic, by_queue_length
from ops.plan.clock import VirtualClock
from ops.plan.day import HOUR_S, DayPlan, Minute, SimulatedDay
from ops.plan.service import Deployment, Service
from ops.plan.shard import Shard, ShardPlan
from ops.plan.sizing import slower
from ops.plan.traffic import Poisson
from ops.plan.worker import Job, job_of
from scheduler.settings import Settings
from tests.known_costs import COSTS, SENTENCES

HOUR = DayPlan(num_requests=200_000, begin_h=10.9, end_h=11.3, fails_minutes=10.0, times_slower=4000.0)


def total(minutes: list[Minute], name: str) -> int:
    return sum(getattr(minute, name) for minute in minutes)


def answered(minutes: list[Minute]) -> int:
    return sum(len(minute.latencies_s) for minute in minutes)


@pytest.fixture(scope="module")
def minutes() -> list[Minute]:
    return SimulatedDay(HOUR, by_arithmetic, COSTS, SENTENCES).run()


def test_every_request_is_answered_or_refused_or_still_open(minutes: list[Minute]) -> None:
    assert total(minutes, "offered") > 4000
    missing = total(minutes, "offered") - answered(minutes) - total(minutes, "refused")
    # What lies on its way to another shard is open, too; the last minute may have begun to offer already.
    assert abs(missing - minutes[-1].open) <= 5


def test_a_failed_shard_takes_only_its_own_share(minutes: list[Minute]) -> None:
    lost = total(minutes, "retried")
    before = next(minute.open for minute in minutes if minute.at_s >= (HOUR.fails_h - 0.02) * HOUR_S)

    assert 0 < lost < before
    assert all(minute.latencies_s for minute in minutes if minute.at_s > 11 * HOUR_S)


def test_the_same_seed_gives_the_same_day(minutes: list[Minute]) -> None:
    again = SimulatedDay(HOUR, by_arithmetic, COSTS, SENTENCES).run()
    other = SimulatedDay(HOUR, by_arithmetic, COSTS, SENTENCES, seed=1).run()

    assert again == minutes
    assert other != minutes


def test_more_workers_come_with_the_load_under_either_rule() -> None:
    for rule in (by_arithmetic, by_queue_length):
        run = SimulatedDay(replace(HOUR, fails_h=0.0), rule, COSTS, SENTENCES).run()

        assert run[-1].workers > 3 * 2


def test_a_day_has_its_requests_a_peak_and_a_burst() -> None:
    day = DayPlan(num_requests=100_000)
    hours = day.arrivals_s(0) / HOUR_S
    counts = np.histogram(hours, np.arange(0, 24.01, 1 / 3))[0]

    assert len(hours) == 100_000
    assert counts.argmax() == 17 * 3
    assert counts[14 * 3] / counts[2 * 3] == pytest.approx(1.7 / 0.3, rel=0.15)


def test_a_shard_serves_as_the_whole_system_does_where_nothing_but_workers_takes_time() -> None:
    """The day leaves API and Redis out; beside a slow model they do not show."""
    costs = slower(COSTS, 500.0)
    quick = replace(costs, api=COSTS.api, redis=COSTS.redis, worker=COSTS.worker, hop_s=0.0)
    settings = Settings(kv_budget_tokens=1024, max_stall_ms=2500.0)
    outcome = Service(Deployment(workers=2, settings=settings), quick, SENTENCES).run(Poisson(6.0, 1), 3000)
    clock, latencies_s = VirtualClock(), []

    def finish(jobs: list[Job]) -> None:
        latencies_s.extend(clock.now - job.accepted_s for job in jobs)

    shard = Shard(clock, ShardPlan(quick, settings), finish)
    shard.resize(2)
    at_s = 0.0
    for number in range(3000):
        at_s += float(np.random.default_rng(number).exponential(1 / 6.0))
        size = SENTENCES.texts[number * 7 % len(SENTENCES.texts)][0]
        clock.after(at_s, lambda number=number, size=size: shard.accept([job_of(str(number), size, clock.now, None)]))
    while clock.step():
        pass

    assert np.percentile(latencies_s, 50) == pytest.approx(outcome.quantile_s(0.5), rel=0.12)
    assert np.percentile(latencies_s, 95) == pytest.approx(outcome.quantile_s(0.95), rel=0.15)
