"""Weights carried over to a new vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from ops.training.transplant import transplant_rows


def vocabulary(*tokens: str, merges: list[tuple[str, str]]) -> Tokenizer:
    return Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))


@pytest.fixture
def rows() -> np.ndarray:
    old = vocabulary("<eos>", "a", "b", "ab", merges=[("a", "b")])
    new = vocabulary("ab", "<eos>", "<DO_SUPPORT>", "b", "a", "ba", merges=[("b", "a"), ("a", "b")])
    return transplant_rows(np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32), old, new)


def test_a_token_keeps_its_row_wherever_its_number_goes(rows):
    assert [rows[number, 0] for number in (0, 1, 3, 4)] == [3.0, 0.0, 2.0, 1.0]


def test_a_new_token_starts_as_the_mean_of_its_old_pieces(rows):
    assert rows[5, 0] == 1.5


def test_a_new_reason_starts_at_zero(rows):
    assert rows[2, 0] == 0.0
