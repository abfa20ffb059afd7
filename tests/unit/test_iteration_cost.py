"""What iterations cost: found again in sums over iterations whose cost is known."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.capacity.iteration_cost import IterationCost, fit_cost
from scheduler.observations import IterationSums

TRUE = IterationCost(fixed_s=0.003, prompt_s=0.00005, decode_s=0.00012)


def sums_of(iterations: Iterable[tuple[int, int]], noise: float = 0.0, cost: IterationCost = TRUE) -> dict[str, float]:
    """Of (prompt tokens, decode steps); times vary by `noise`, relative."""
    dice, sums = random.Random(5), IterationSums()
    for p, d in iterations:
        sums.add_iteration(p, d, cost.seconds(p, d) * dice.gauss(1.0, noise))
    return asdict(sums)


def under_load(mean_running: int, number: int = 4000) -> list[tuple[int, int]]:
    dice = random.Random(6)
    return [
        (sum(dice.randint(8, 28) for _ in range(dice.randint(0, mean_running // 2))), dice.randint(0, 2 * mean_running))
        for _ in range(number)
    ]


def test_the_true_cost_is_found_where_iterations_differ() -> None:
    found = fit_cost(sums_of(under_load(30)))

    assert asdict(found) == pytest.approx(asdict(TRUE), rel=0.01)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_the_cost_of_a_full_batch_is_found_in_noise(noise: float) -> None:
    found = fit_cost(sums_of(under_load(30), noise))

    assert found.seconds(340, 66) == pytest.approx(TRUE.seconds(340, 66), rel=0.1)


@pytest.mark.parametrize("cost", [TRUE, IterationCost(0.003, 0.00005, 0.00003), IterationCost(0.001, 0.0002, 0.0002)])
def test_one_sequence_at_a_time_foretells_a_full_batch_about_right(cost: IterationCost) -> None:
    """Prompts of like length, alone, and single decode steps: nothing tells what a second step would add."""
    light = [(dice, 0) for dice in (16, 18, 20)] * 40 + [(0, 1)] * 400

    found = fit_cost(sums_of(light, noise=0.1, cost=cost))

    assert cost.seconds(340, 66) / 2 < found.seconds(340, 66) < 2 * cost.seconds(340, 66)


def test_two_kinds_of_iterations_only_are_told_apart_by_their_tokens() -> None:
    found = fit_cost(sums_of([(18, 0), (0, 1)] * 50, cost=IterationCost(0.003, 0.0001, 0.0001)))

    assert asdict(found) == pytest.approx({"fixed_s": 0.003, "prompt_s": 0.0001, "decode_s": 0.0001}, rel=0.02)


def test_what_never_varied_is_taken_for_fixed() -> None:
    found = fit_cost(sums_of([(18, 0)] * 50))

    assert found.seconds(18, 0) == pytest.approx(TRUE.seconds(18, 0), rel=1e-3)
    assert found.fixed_s == pytest.approx(TRUE.seconds(18, 0), rel=1e-3)


def test_iterations_that_get_cheaper_with_more_tokens_cost_the_same_each() -> None:
    found = fit_cost(sums_of([(0, d) for d in range(1, 40)], cost=IterationCost(0.01, 0.0, -0.0001)))

    assert (found.prompt_s, found.decode_s) == (0.0, 0.0)
    assert found.fixed_s == pytest.approx(0.008, rel=0.01)


@pytest.mark.parametrize("sums", [{}, {"n": 0.0, "t": 0.0}, {"n": 5.0, "t": 0.0}, {"n": 0.5, "t": 1.0}])
def test_nothing_seen_costs_nothing(sums: dict[str, float]) -> None:
    assert fit_cost(sums) == IterationCost()


@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 300), st.floats(0.0, 60.0)), max_size=12))
def test_no_cost_is_ever_negative(iterations: list[tuple[int, int, float]]) -> None:
    sums = IterationSums()
    for p, d, t in iterations:
        sums.add_iteration(p, d, t)

    found = fit_cost(asdict(sums))

    assert all(0.0 <= value < 1e4 for value in asdict(found).values())
