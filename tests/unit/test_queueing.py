"""The formulas against textbook values, and against queues that are simulated customer by customer."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from math import inf, isfinite

import pytest

from scheduler.capacity import queueing

Draw = Callable[[random.Random], float]


def mean_wait_s(arrival_rate: float, num_servers: int, service: Draw, num_customers: int = 60_000) -> float:
    """First come, first served, by the clock of each server: a heap of the times at which they are free."""
    dice = random.Random(7)
    free_s = [0.0] * num_servers
    now = waited_s = 0.0
    for _ in range(num_customers):
        now += dice.expovariate(arrival_rate)
        begin_s = max(now, free_s[0])
        waited_s += begin_s - now
        heapq.heapreplace(free_s, begin_s + service(dice))
    return waited_s / num_customers


def exponential(dice: random.Random) -> float:
    return dice.expovariate(1.0)


def constant(dice: random.Random) -> float:
    return 1.0


def two_kinds(dice: random.Random) -> float:
    """Mean 1, C^2 = 2 (0.2 x 3^2 + 0.8 x 0.5^2) - 1 = 3: four short ones, then a long one."""
    return dice.expovariate(1 / 3) if dice.random() < 0.2 else dice.expovariate(1 / 0.5)


def erlang_c(num_servers: int, offered: float) -> float:
    """Probability of waiting in M/M/m at `offered` = lambda / mu erlangs (Erlang 1917; Kleinrock, vol. 1, 3.5)."""
    return queueing.steady_state(offered, lambda n: n, num_servers).wait_probability


def erlangs_wait_s(arrival_rate: float, num_servers: int) -> float:
    """Of M/M/m with a mean service of one second."""
    return erlang_c(num_servers, arrival_rate) / (num_servers - arrival_rate)


@pytest.mark.parametrize(
    ("servers", "offered", "expected"),
    [(1, 0.7, 0.7), (2, 1.5, 9 / 14), (3, 2.0, 4 / 9), (10, 7.0, 0.2217), (5, 6.0, 1)],
)
def test_the_probability_of_waiting_is_erlangs(servers: int, offered: float, expected: float) -> None:
    assert erlang_c(servers, offered) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.5), (1, 0.8), (3, 2.4), (8, 6.0)])
def test_erlangs_wait_is_that_of_a_simulated_queue(servers: int, rate: float) -> None:
    assert mean_wait_s(rate, servers, exponential) == pytest.approx(erlangs_wait_s(rate, servers), rel=0.12)


@pytest.mark.parametrize(("service", "c2"), [(constant, 0.0), (exponential, 1.0), (two_kinds, 3.0)])
@pytest.mark.parametrize("servers", [1, 4])
def test_allen_and_cunneen_tell_the_wait_behind_any_service_time(service: Draw, c2: float, servers: int) -> None:
    rate = 0.8 * servers

    predicted_s = queueing.allen_cunneen(erlangs_wait_s(rate, servers), 1.0, c2)

    assert mean_wait_s(rate, servers, service) == pytest.approx(predicted_s, rel=0.2)


def test_customers_who_slow_each_other_down_wait_as_the_chain_says() -> None:
    """A batch: n together are served at a rate that flattens. Simulated as what it is, one event after the other."""

    def rate(running: float) -> float:
        return running / (1.0 + 0.2 * running)

    arrival_rate, room, dice = 3.0, 12, random.Random(3)
    number, now, area = 0, 0.0, 0.0
    for _ in range(120_000):
        leaving = rate(min(number, room))
        step_s = dice.expovariate(arrival_rate + leaving)
        now, area = now + step_s, area + max(0, number - room) * step_s
        number += 1 if dice.random() * (arrival_rate + leaving) < arrival_rate else -1

    steady = queueing.steady_state(arrival_rate, rate, room)

    assert area / now / arrival_rate == pytest.approx(steady.wait_s, rel=0.2)  # by Little's law
    assert rate(steady.mean_in_service) > arrival_rate  # concave: the mean lies beyond the point of balance


def test_a_huge_station_is_summed_without_overflow() -> None:
    steady = queueing.steady_state(900_000.0, lambda n: n, 1_000_000)

    assert steady.mean_in_service == pytest.approx(900_000)
    assert steady.wait_probability == 0.0


@pytest.mark.parametrize("rate", [1.0, 1.5, inf])
def test_a_station_that_cannot_keep_up_waits_for_ever(rate: float) -> None:
    assert queueing.steady_state(rate, lambda n: 0.25 * n, 4) == queueing.SteadyState(1.0, inf, 4.0)


def test_nobody_waits_where_nobody_comes() -> None:
    assert queueing.steady_state(0.0, lambda n: 0.0, 4) == queueing.SteadyState()


@pytest.mark.parametrize("mean_square_s2", [4.0, 6.0, 8.0])
def test_the_turn_of_one_worker_is_the_residual_life_of_its_iterations(mean_square_s2: float) -> None:
    """E[t^2] / 2 E[t] (Cox, Renewal Theory, 1962, ch. 5): a random moment falls into long ones more often."""
    busy_s, mean_s = 0.7, 2.0

    turn_s = queueing.wait_for_turn_s(1, busy_s, mean_square_s2 / mean_s, arrivals=5.0)

    assert turn_s == pytest.approx(busy_s * mean_square_s2 / (2 * mean_s))


@pytest.mark.parametrize("arrivals", [0.0, 0.1, 10.0])
def test_an_idle_worker_takes_who_comes_at_once(arrivals: float) -> None:
    assert queueing.wait_for_turn_s(2, 0.0, 1.0, arrivals) == 0.0
    assert queueing.wait_for_turn_s(0, 0.0, 1.0, arrivals) == 0.0


def test_variation_and_littles_residual_are_zero_where_there_is_nothing() -> None:
    assert queueing.squared_variation(0.0, 0.0) == queueing.littles_residual(0.0, 3.0, 1.0) == 0.0
    assert queueing.squared_variation(2.0, 8.0) == 1.0
    assert queueing.littles_residual(10.0, 3.0, 3.0) == pytest.approx(0.1)
    assert isfinite(queueing.littles_residual(1e-300, 1.0, 1.0))
