"""Little's law by stage: of known arrivals, of what a worker and a replica count, and which pool is named."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from math import isfinite

import pytest

from api.service.exchange import Exchange
from api.telemetry.recorder import Tallies
from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.capacity.measure import Capacity, Goals, measure, measure_pools
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.stages import POOLS, Stage, Stages, busiest, stages_of
from scheduler.messages import EOS_ID, Completion, CorrectionRequest, Delivery, FinishReason, Timings
from tests.observed_policy import ObservedPolicy

GOALS = Goals(slo_wait_s=0.5, deadline_s=30.0)
WORKER = WorkerFacts("w", kv_budget_tokens=4096, max_slots=256)
WORD = 7
OF_WORKERS = {"queue": "queue_s", "prefill": "prefill_s", "hand-off": "handoff_s", "decode": "decode_s"}


@dataclass(frozen=True, slots=True)
class Trip:
    """One sentence: when it came, and how long it was in each stage."""

    at_s: float
    times_s: dict[str, float]

    def spans(self) -> dict[str, tuple[float, float]]:
        at_s, found = self.at_s, {}
        for name in POOLS:
            found[name] = at_s, at_s + self.times_s[name]
            at_s += self.times_s[name]
        return found


def trips(seed: int, rate_per_s: float = 40.0, last_s: float = 30.0) -> list[Trip]:
    """Poisson arrivals; every stage takes times of its own."""
    dice, at_s, found = random.Random(seed), 0.0, []
    means_s = dict(zip(POOLS, (0.002, 0.02, 0.004, 0.001, 0.05, 0.003), strict=True))
    while (at_s := at_s + dice.expovariate(rate_per_s)) < last_s:
        found.append(Trip(at_s, {name: dice.uniform(0.5, 1.5) * mean_s for name, mean_s in means_s.items()}))
    return found


def counted(some: list[Trip], now: float) -> Moment:
    """What worker and replica have counted by then of those that each has ended."""
    computed = [one for one in some if one.spans()["decode"][1] <= now]
    answered = [one for one in some if one.spans()["deliver"][1] <= now]
    api = {name: sum(one.times_s[name] for one in answered) for name in ("tokenize", "deliver")}
    sums = {field: sum(one.times_s[name] for one in computed) for name, field in OF_WORKERS.items()}
    sums["decode_s"] += sums["handoff_s"]  # as a worker counts it: since the first token
    whole = {"answered": len(answered), "whole": sum(sum(one.times_s.values()) for one in answered)}
    return Moment(now, iterations={"requests": len(computed), **sums}, stages=api | whole)


def seen(some: list[Trip], now: float, **more: object) -> Observed:
    history = tuple(counted(some, at_s) for at_s in range(int(now) - 15, int(now)))
    return Observed(counted(some, now), history, (WORKER,), num_api_replicas=1, **more)


def by_name(found: Stages) -> dict[str, Stage]:
    return {stage.name: stage for stage in found.each}


def grown(seconds: float = 10.0, replicas: int = 1, **sums: float) -> Observed:
    """A system that counted so much in that time."""
    return Observed(Moment(seconds, stages=sums), (Moment(0.0),), (WORKER,), num_api_replicas=replicas)


@pytest.mark.parametrize("seed", range(3))
def test_l_is_lambda_w_in_each_stage_of_a_known_trace(seed: int) -> None:
    """L is the integral of the number in the stage, counted by itself."""
    some = trips(seed)

    stages = by_name(stages_of(seen(some, 25.0), Capacity()))

    for name, stage in stages.items():
        area_s = sum(max(0.0, min(25.0, end) - max(15.0, begin)) for begin, end in (one.spans()[name] for one in some))
        assert stage.rate_per_s * stage.time_s == pytest.approx(stage.number)
        assert stage.number == pytest.approx(area_s / 10, rel=0.03), name
        assert stage.rate_per_s == pytest.approx(sum(15 <= one.at_s < 25 for one in some) / 10, rel=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_stages_add_up_to_the_whole(seed: int) -> None:
    found = stages_of(seen(trips(seed), 25.0), Capacity())

    assert sum(stage.time_s for stage in found.each) == pytest.approx(found.whole_s, rel=0.01)
    assert found.residual < 0.01


@pytest.mark.parametrize("lost", ["queue_s", "decode_s"])
def test_a_stage_that_is_not_counted_shows(lost: str) -> None:
    some = seen(trips(0), 25.0)
    without = [replace(one, iterations=one.iterations | {lost: 0.0}) for one in (*some.history, some.now)]

    assert stages_of(replace(some, now=without[-1], history=tuple(without[:-1])), Capacity()).residual > 0.1


def test_a_quiet_system_has_stages_and_no_figures() -> None:
    found = stages_of(Observed(Moment(5.0)), Capacity())

    assert [stage.name for stage in found.each] == list(POOLS)
    assert {(stage.rate_per_s, stage.number, stage.time_s, stage.utilization) for stage in found.each} == {(0, 0, 0, 0)}
    assert (found.whole_s, found.residual, busiest(found.each)) == (0.0, 0.0, None)


def test_broken_counts_give_no_figure_below_zero_or_without_end() -> None:
    broken = grown(answered=3.0, tokenize=-5.0, deliver=1e308, whole=1e308, api_cpu=-1.0, redis_cpu=-7.0)

    for stage in stages_of(broken, Capacity(utilization=1e308)).each:
        figures = stage.rate_per_s, stage.number, stage.time_s, stage.utilization
        assert all(isfinite(each) and each >= 0 for each in figures)


def test_the_utilization_of_the_workers_is_shared_by_what_prompts_and_decode_steps_cost() -> None:
    """An iteration takes 1 ms, 10 us for each prompt token and 100 us for each decode step; 79 run at once."""
    sums: Counter[str] = Counter()
    for p, d in ((40, 0), (20, 4), (0, 8), (30, 2), (0, 1), (10, 9)):
        t = 0.001 + 1e-5 * p + 1e-4 * d
        sums.update(n=1, t=t, tt=t * t, p=p, d=d, pp=p * p, pd=p * d, dd=d * d, pt=p * t, dt=d * t)
    sums.update(requests=40, prompts=40 * 20, outputs=40 * 5, outputs2=40 * 25, reserved=40 * 52)
    observed = Observed(Moment(10.0, accepted=40, iterations=sums), (Moment(0.0),), (WORKER,))
    capacity = measure(observed, GOALS)
    prefill_s, decode_s = 0.001 / 78 + 20e-5, 4 * (0.001 / 78 + 1e-4)

    stages = by_name(stages_of(observed, capacity))

    assert stages["prefill"].utilization == pytest.approx(4 * prefill_s, rel=0.05)
    assert stages["decode"].utilization == pytest.approx(4 * decode_s, rel=0.05)
    assert stages["prefill"].utilization + stages["decode"].utilization == pytest.approx(capacity.utilization)


def test_who_tokenizes_holds_a_process_and_the_rest_of_its_cpu_is_for_delivery() -> None:
    observed = grown(replicas=2, answered=100, tokenize=4.0, api_cpu=12.0, redis_cpu=3.0)

    used = {stage.name: stage.utilization for stage in stages_of(observed, Capacity()).each}

    assert (used["tokenize"], used["deliver"], used["queue"]) == pytest.approx((0.2, 0.4, 0.3))


def test_what_comes_now_waits_for_the_event_loop_and_for_the_workers() -> None:
    late = Observed(Moment(5.0, loop_ticks=50, loop_late_s=2.0), (Moment(0.0),), (WORKER,))

    waits_s = {stage.name: stage.predicted_wait_s for stage in stages_of(late, Capacity(predicted_wait_s=0.3)).each}

    assert waits_s == {"tokenize": 0.04, "queue": 0.3, "prefill": 0, "hand-off": 0, "decode": 0, "deliver": 0.04}


def two_pools(**of_decode: int) -> tuple[Observed, Stages]:
    """40 requests of 5 tokens in 10 s. 9 of them are offered."""
    sums: Counter[str] = Counter()
    for p, d in ((40, 0), (20, 0), (0, 8), (0, 2), (0, 1), (60, 0)):
        t = 0.001 + 1e-5 * p + 1e-4 * d
        sums.update(n=1, t=t, tt=t * t, p=p, d=d, pp=p * p, pd=p * d, dd=d * d, pt=p * t, dt=d * t)
    sums.update(requests=40, prompts=40 * 20, outputs=40 * 5, outputs2=40 * 25, reserved=40 * 52)
    sums.update(queue_s=2.0, prefill_s=0.4, handoff_s=1.0, decode_s=5.0)
    workers = (
        replace(WORKER, name="reads", role="prefill", num_running=9),
        replace(WORKER, name="writes", role="decode", max_slots=12, **of_decode),
    )
    seen = Observed(Moment(10.0, accepted=40, iterations=sums), (Moment(0.0),), workers)
    return seen, stages_of(seen, measure(seen, GOALS), measure_pools(seen, GOALS))


def test_workers_with_roles_are_pools_of_their_own() -> None:
    seen, found = two_pools()
    stages, pools = by_name(found), {pool.role: pool for pool in measure_pools(seen, GOALS)}

    for role in ("prefill", "decode"):
        assert (stages[role].pool, stages[role].utilization) == (role, pools[role].utilization)
    assert busiest(found.each) == (stages["decode"], pools["decode"].utilization)


def test_the_hand_off_is_no_part_of_the_decode() -> None:
    _, found = two_pools()

    times_s = {stage.name: stage.time_s for stage in found.each}

    assert (times_s["hand-off"], times_s["decode"]) == (0.025, 0.1)


def test_what_is_offered_waits_for_an_iteration_or_for_room_among_those_who_decode() -> None:
    idle, busy, full = (by_name(two_pools(num_running=number)[1])["hand-off"] for number in (0, 1, 12))

    iteration_s = 0.001 + 12 * 1e-4
    assert idle.predicted_wait_s == 0
    assert busy.predicted_wait_s == pytest.approx((0.001 + 1e-4) / 2, rel=0.1)
    assert full.predicted_wait_s == pytest.approx(10 / (12 / (4 * iteration_s)), rel=0.1)


@pytest.mark.parametrize(
    ("used", "named"),
    [
        ({"tokenize": 0.6, "deliver": 0.3, "prefill": 0.2, "decode": 0.5}, ("tokenize", 0.9)),
        ({"tokenize": 0.1, "deliver": 0.4, "prefill": 0.2, "decode": 0.5}, ("decode", 0.7)),
        ({"prefill": 0.5, "decode": 0.2}, ("prefill", 0.7)),
        ({"queue": 0.8, "decode": 0.5}, ("queue", 0.8)),
    ],
)
def test_the_pool_that_is_used_most_is_named_by_its_stage(used: dict[str, float], named: tuple[str, float]) -> None:
    stage, share = busiest(Stage(name, pool, utilization=used.get(name, 0.0)) for name, pool in POOLS.items())

    assert (stage.name, share) == (named[0], pytest.approx(named[1]))


def test_a_worker_counts_the_stages_of_what_comes_to_its_own_end() -> None:
    policy = ObservedPolicy(ContinuousBatching(BatchLimits(200, 8, 200)))
    request = CorrectionRequest("a", (WORD,) * 4, (0,) * 4, 6, "t")
    policy.submit(Delivery(request, 1, 0.4), now=5.0)
    policy.submit(Delivery(replace(request, request_id="left"), 1, 9.0), now=5.0)
    policy.commit(policy.plan(5.1), [WORD, WORD], 5.3)
    policy.cancel("left")
    policy.commit(policy.plan(5.3), [WORD], 5.6)
    policy.commit(policy.plan(5.6), [EOS_ID], 6.0)

    totals = policy.observations.totals()

    assert totals["iteration:requests"] == 1
    assert totals["iteration:queue_s"] == pytest.approx(0.5)
    assert totals["iteration:prefill_s"] == pytest.approx(0.2)
    assert totals["iteration:decode_s"] == pytest.approx(0.7)


def test_a_replica_counts_an_answer_once_for_each_sentence_and_leaves_the_workers_times_out() -> None:
    requests = tuple(CorrectionRequest(name, (5,), (0,), 4, "t") for name in ("abc-1", "abc-2"))
    tallies, exchange = Tallies(), Exchange("abc", received_s=10.0, sent_s=10.1, requests=requests)
    texts = (Timings(0.1, 0.05, 0.25), Timings(0.1, 0.05, 0.05))
    exchange.note_answers([Completion("abc", FinishReason.STOP, (WORD,), timings) for timings in texts])

    tallies.note_answer(exchange, elapsed_s=1.0)

    totals = tallies.totals()
    assert totals["stage:answered"] == 2
    assert totals["stage:tokenize"] == pytest.approx(2 * 0.1)
    assert totals["stage:deliver"] == pytest.approx(2 * (1.0 - 0.1) - 0.4 - 0.2)
    assert totals["stage:whole"] == pytest.approx(2.0)
    assert exchange.output_tokens == 2
