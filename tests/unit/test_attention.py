"""Attention over cached contexts: what neighbours may change of a sequence's sums, which is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.small_model import CONFIG
from worker.model.attention import GROUP_SEQUENCES, ContextBuffers, context_width

HEADS = CONFIG.num_heads, CONFIG.width // CONFIG.num_heads
ARENA = np.random.default_rng(0).standard_normal((512, 2 * CONFIG.width)).astype(np.float32)


def queries(num: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((num, *HEADS)).astype(np.float32)


def rows_of(lengths: list[int]) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.array([rng.permutation(len(ARENA))[: context_width(max(lengths))] for _ in lengths])


def attended(some: np.ndarray, rows: np.ndarray, lengths: list[int]) -> np.ndarray:
    found = np.empty_like(some)
    for group in ContextBuffers(CONFIG).groups(rows, np.array(lengths), num_prompts=0):
        group.attend(some, ARENA, found)
    return found


@pytest.mark.parametrize("length", [1, 5, 8, 13, 40, 128, 131])
@pytest.mark.parametrize("longest", [1, 16, 29, 100, 160])
def test_no_bit_depends_on_how_wide_a_neighbour_makes_the_contexts(length: int, longest: int):
    lengths = [length, max(length, longest)]
    some, rows = queries(2), rows_of(lengths)

    alone = attended(some[:1], rows[:1], lengths[:1])

    assert np.array_equal(attended(some, rows, lengths)[:1], alone)


def test_no_bit_depends_on_the_group_a_sequence_is_in():
    lengths = [20] * (2 * GROUP_SEQUENCES + 1)
    some, rows = queries(len(lengths)), rows_of(lengths)

    alone = [attended(some[i : i + 1], rows[i : i + 1], [20])[0] for i in range(len(lengths))]

    assert np.array_equal(attended(some, rows, lengths), alone)
