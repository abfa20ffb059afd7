"""Batches of training examples: what the model reads, predicts and is told about mistakes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from api.grammar.edit_script import EOS_ID, REASONS, ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from ops.training.model.batches import NO_TARGET, BatchOptions, batch_stream, collate, cut_batches, encode_example
from ops.training.text.maker import Example

GOED = Example("He goed home.", "He went home.", (ScriptEdit(1, 1, "went", Reason.PAST_IRREG),), "test")
CLEAN = Example("She has a red car and a blue house.", "She has a red car and a blue house.", (), "test")
TOO_LONG = Example("go " * 65, "go " * 65, (), "test")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def test_the_tokens_of_a_mistake_are_labelled_with_its_reason(tokenizer):
    encoded = encode_example(tokenizer, GOED)

    labels = dict.fromkeys(range(len(encoded.prompt)), 0) | {1: 1 + REASONS.index(Reason.PAST_IRREG)}
    labels[2] = labels[1]  # go|ed
    assert encoded.labels == tuple(labels.values())


def test_an_example_over_the_limits_is_left_out(tokenizer):
    assert encode_example(tokenizer, TOO_LONG) is None


def test_every_output_token_is_predicted_from_the_one_before(tokenizer):
    rows = [encode_example(tokenizer, example) for example in (GOED, CLEAN)]

    batch = collate(rows)

    for row, (tokens, targets) in zip(rows, zip(batch.tokens, batch.targets, strict=True), strict=True):
        start = len(row.prompt) - 1
        assert tuple(targets[targets != NO_TARGET]) == row.output
        assert tuple(tokens[start + 1 : len(row)]) == row.output[:-1]
        assert tuple(np.flatnonzero(targets != NO_TARGET)) == tuple(range(start, len(row)))
    assert batch.targets[1].max() == EOS_ID


def test_a_batch_stays_within_its_tokens_and_loses_no_example(tokenizer):
    encoded = [encode_example(tokenizer, example) for example in [GOED, CLEAN] * 50]

    batches = cut_batches(encoded, BatchOptions(tokens_per_batch=90), random.Random(0))

    assert all(batch.tokens.size <= 90 for batch in batches)
    assert sum(map(len, batches)) == 100


def test_the_same_seed_gives_the_same_batches(tokenizer):
    def tokens(seed: int) -> list[list[int]]:
        stream = batch_stream([GOED, CLEAN] * 30, tokenizer, BatchOptions(90, pool_size=20), seed)
        return [batch.tokens.ravel().tolist() for batch in stream]

    assert tokens(1) == tokens(1)
    assert tokens(1) != tokens(2)
