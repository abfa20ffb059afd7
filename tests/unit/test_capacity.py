"""The capacity figures by example: what is known, what cannot be known, what must never be told."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.capacity.fleet import Fleet, Shape, shape_of
from scheduler.capacity.measure import Capacity, littles_residual, measure, workers_needed
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.window import last_seconds, rising
from scheduler.observations import IterationSums
from scheduler.settings import Settings

SETTINGS = Settings()
WORKER = WorkerFacts("worker-1", kv_budget_tokens=4096, max_slots=256)
SHAPE = Shape(prompt_tokens=18, output_tokens=4, reserved_tokens=50, fixed_s=0.003, unit_s=6e-5)
SUMS = (
    *("n", "t", "tt", "p", "d", "work", "work2", "work_t"),
    *("requests", "outputs", "reserved", "prompts"),
)


def a_moment(at_s: float, per_s: float = 10.0) -> Moment:
    """Of a system in which a request takes 0.2 s: four iterations of 0.05 s, alone. One in ten is refused."""
    number = int(per_s * at_s)
    work = {"work": 18 + 3 * 2, "work2": 18 * 18 + 3 * 4, "work_t": 0.9 + 2 * 0.15}
    sums = {"n": 4, "t": 0.2, "tt": 0.01, "p": 18, "d": 3} | work
    ended = {"requests": 1, "outputs": 4, "reserved": 50, "prompts": 18}
    iterations = {name: value * number for name, value in (sums | ended).items()}
    return Moment(at_s, 0.2 * number, 0.2 * number, number, number, iterations, refused=number // 10)


def observed(last_s: int = 100, workers: tuple[WorkerFacts, ...] = (WORKER,), **more: object) -> Observed:
    history = tuple(a_moment(float(at_s)) for at_s in range(max(0, last_s - 120), last_s))
    return Observed(a_moment(float(last_s)), history, workers, **more)


def test_the_figures_of_a_steady_system_are_those_of_its_books() -> None:
    capacity = measure(observed(), SETTINGS)

    assert capacity.arrival_rate_per_s == pytest.approx(10.0)
    assert capacity.number_in_system == pytest.approx(2.0)
    assert capacity.time_in_system_s == pytest.approx(0.2)
    assert capacity.residual == pytest.approx(0.0)
    offered_tokens_per_s = 11 * 22  # 18 prompt and 4 output tokens; refused ones, too
    assert capacity.utilization == pytest.approx(offered_tokens_per_s / capacity.service_rate_tokens_per_s)
    full_per_s = capacity.service_rate_tokens_per_s / 22
    assert capacity.queue_bound_tokens == pytest.approx(full_per_s * 50 * SETTINGS.request_timeout_s, abs=1)


def test_full_batches_of_two_workers_serve_twice_as_much() -> None:
    workers = WORKER, replace(WORKER, name="worker-2")
    one, two = measure(observed(), SETTINGS), measure(observed(workers=workers), SETTINGS)

    assert two.service_rate_tokens_per_s == pytest.approx(2 * one.service_rate_tokens_per_s)
    assert two.queue_bound_tokens == pytest.approx(2 * one.queue_bound_tokens, abs=1)


@pytest.mark.parametrize(
    ("rows", "role", "room"),
    [(0, "all", 81), (65_536, "all", 81), (84, "all", 16), (10, "all", 4), (10, "prefill", 81)],
)
def test_only_as_many_run_as_the_bound_on_stalls_lets_in(rows: int, role: str, room: int) -> None:
    worker = replace(WORKER, max_prefill_rows=rows, role=role)

    assert SHAPE.room(worker) == room


def test_the_full_rate_is_that_of_as_many_as_the_budget_holds() -> None:
    fleet = Fleet(SHAPE, [WORKER])

    iteration_s = 0.003 + 81 / 4 * (18 + 3 * 2) * 6e-5

    assert fleet.room == 81  # 4096 / 50
    assert fleet.requests_per_s == pytest.approx(81 / (4 * iteration_s))
    assert Fleet(SHAPE, [replace(WORKER, max_slots=8)]).room == 8
    assert Fleet(SHAPE, [replace(WORKER, kv_budget_tokens=0)]).room == 1


def test_a_backlog_is_waited_for_at_the_full_rate() -> None:
    calm = measure(observed(num_running=80), SETTINGS)
    full = measure(observed(num_running=81, num_waiting=100), SETTINGS)

    full_per_s = full.service_rate_tokens_per_s / 22
    assert full.predicted_wait_s == pytest.approx(101 / full_per_s)
    assert calm.predicted_wait_s == pytest.approx(0.025)  # always busy: half an iteration


@pytest.mark.parametrize(("num_workers", "wait_ms"), [(1, 25.0), (2, 17.83), (4, 0.6605)])
def test_a_request_with_room_waits_for_the_next_exchange_of_a_worker(num_workers: int, wait_ms: float) -> None:
    """Of iterations of 50 ms. 10 requests/s come in; workers who are busy half of the time are seldom all busy."""
    workers = tuple(replace(WORKER, name=f"worker-{number}") for number in range(num_workers))

    capacity = measure(observed(workers=workers), SETTINGS)

    assert 1e3 * capacity.predicted_wait_s == pytest.approx(wait_ms, rel=1e-3)


def test_without_a_live_worker_nothing_is_served_before_the_deadline() -> None:
    capacity = measure(observed(workers=(), num_waiting=3), SETTINGS)

    assert capacity.service_rate_tokens_per_s == capacity.queue_bound_tokens == 0
    assert (capacity.predicted_wait_s, capacity.utilization, capacity.workers_needed) == (30.0, 1.0, 1)


def test_a_system_that_has_just_started_tells_nothing_yet() -> None:
    capacity = measure(Observed(Moment(at_s=1.8e9), workers=(WORKER,)), SETTINGS)

    assert capacity == Capacity(workers_needed=1)


def test_a_first_request_that_never_ends_is_waited_for_as_long_as_it_has() -> None:
    stuck = Observed(Moment(100.0, accepted=300), (), (WORKER,), num_waiting=300, oldest_waiting_s=7.0)

    assert measure(stuck, SETTINGS).predicted_wait_s == 7.0


def test_what_a_worker_can_do_is_known_after_a_quiet_hour() -> None:
    busy = a_moment(100.0)
    quiet = [replace(busy, at_s=3600.0 + at_s) for at_s in range(121)]
    capacity = measure(Observed(quiet[-1], tuple(quiet[:-1]), (WORKER,)), SETTINGS)

    assert capacity.service_rate_tokens_per_s == measure(observed(), SETTINGS).service_rate_tokens_per_s
    assert (capacity.utilization, capacity.arrival_rate_per_s, capacity.residual) == (0.0, 0.0, 0.0)


def test_what_was_before_redis_was_emptied_is_not_counted() -> None:
    earlier = tuple(replace(a_moment(900.0), at_s=float(at_s)) for at_s in range(40, 70))
    later = tuple(replace(a_moment(at_s - 70.0), at_s=float(at_s)) for at_s in range(70, 101))
    capacity = measure(Observed(later[-1], earlier + later[:-1], (WORKER,)), SETTINGS)

    assert capacity.arrival_rate_per_s == pytest.approx(10.0)


def test_moments_that_were_told_twice_are_passed_over() -> None:
    twice = (a_moment(1.0), a_moment(2.0), a_moment(2.0), a_moment(3.0))

    assert rising(twice, a_moment(3.0)) == [a_moment(1.0), a_moment(2.0), a_moment(3.0)]


def test_a_moment_told_late_still_begins_the_window() -> None:
    moments = [a_moment(at_s) for at_s in (0.0, 9.7, 20.0)]

    assert last_seconds(moments, 10.0).seconds == pytest.approx(10.3)
    assert last_seconds(moments, 60.0).seconds == 20.0
    assert last_seconds(moments, 5.0).seconds == 0.0


def test_fewer_than_thirty_ends_audit_nothing() -> None:
    lost = [Moment(float(at_s), area_s=10.0 * at_s, stay_s=0.1 * at_s, accepted=at_s, ended=at_s) for at_s in range(31)]

    assert measure(Observed(lost[29], tuple(lost[:29])), SETTINGS).residual == 0.0
    assert measure(Observed(lost[30], tuple(lost[:30])), SETTINGS).residual == pytest.approx(0.99)


def test_a_backlog_that_has_just_drained_is_not_taken_for_lost_requests() -> None:
    """Twice as many end as come for 45 s; then a few that had waited for ten seconds end among those of now."""
    rows = [Moment(float(s), 100.0 * s, 200.0 * s, 10 * s, 20 * s) for s in range(46)]
    late = rows[-1]
    rows += [
        Moment(45.0 + s, late.area_s + 2.0 * s, late.stay_s + 5.0 * s, late.accepted + 10 * s, late.ended + 10 * s)
        for s in range(1, 16)
    ]

    assert measure(Observed(rows[-1], tuple(rows[:-1])), SETTINGS).residual == 0.0


@pytest.mark.parametrize(("load", "needed"), [(0.0, 1), (0.5, 1), (0.79, 1), (0.81, 2), (1.7, 3), (40.0, 50)])
def test_as_many_workers_are_needed_as_keep_the_utilization(load: float, needed: int) -> None:
    fleet = Fleet(SHAPE, [WORKER])

    assert workers_needed(load * fleet.requests_per_s, fleet) == needed


@pytest.mark.parametrize(
    ("iterations", "fixed_s", "unit_s"),
    [
        ([(p, 0.003 + 5e-5 * p) for p in (1, 18, 40)], 0.003, 5e-5),
        ([(18, 0.004)] * 9, 0.004, 0.0),  # what never varied counts as fixed
        ([(p, 0.01 - 1e-4 * p) for p in range(1, 40)], 0.008, 0.0),
        ([(1, 0.0), (10, 0.0101), (20, 0.0199)], 0.0, 0.001),
        ([], 0.0, 0.0),
    ],
)
def test_the_cost_of_an_iteration_is_fixed_and_by_work(
    iterations: list[tuple[int, float]], fixed_s: float, unit_s: float
) -> None:
    sums = IterationSums(requests=1)
    for p, seconds in iterations:
        sums.add_iteration(p, 0, seconds)

    found = shape_of(asdict(sums))

    assert (found.fixed_s, found.unit_s) == pytest.approx((fixed_s, unit_s), rel=0.01, abs=1e-9)


amounts = st.one_of(st.integers(0, 50), st.integers(0, 10**9), st.floats(0, 1e9))
moments = st.builds(
    Moment,
    at_s=st.one_of(st.integers(0, 200), st.floats(0, 2e9)),
    area_s=amounts,
    stay_s=amounts,
    accepted=st.integers(0, 10**9),
    ended=st.integers(0, 10**9),
    iterations=st.dictionaries(st.sampled_from(SUMS), amounts),
    refused=st.integers(0, 10**6),
)
workers = st.builds(
    WorkerFacts,
    name=st.just("worker"),
    kv_budget_tokens=st.integers(0, 100_000),
    max_slots=st.integers(0, 4096),
)
anything = st.builds(
    Observed,
    now=moments,
    history=st.lists(moments, max_size=12).map(lambda rows: tuple(sorted(rows, key=lambda row: row.at_s))),
    workers=st.lists(workers, max_size=3).map(tuple),
    num_waiting=st.integers(0, 10**6),
    num_running=st.integers(0, 10**4),
    oldest_waiting_s=st.floats(0, 1e6),
)


@settings(max_examples=50)
@given(anything)
def test_no_figure_is_ever_negative_or_no_number(seen: Observed) -> None:
    capacity = asdict(measure(seen, SETTINGS))

    assert set(capacity) == {spec.name for spec in fields(Capacity)}
    assert all(isfinite(value) and value >= 0 for value in capacity.values()), capacity
    assert capacity["workers_needed"] >= 1


def test_a_system_that_nobody_has_entered_keeps_littles_law() -> None:
    assert littles_residual(0.0, arrival_rate=0.0, time_s=0.0) == 0.0
