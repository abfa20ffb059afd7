"""The parser of the model's output: strict, and never surprised."""

from __future__ import annotations

import random

import pytest

from api.grammar.edit_script import (
    EOS_ID,
    FIRST_POSITION_ID,
    NUM_SPECIAL_TOKENS,
    PAD_ID,
    SEP_ID,
    TAG_IDS,
    X2_ID,
    ScriptEdit,
    ScriptOutcome,
    parse_script,
)
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from scheduler.messages import ID_BITS

TAG = TAG_IDS[Reason.PAST_IRREG]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def position(number: int) -> int:
    return FIRST_POSITION_ID + number


@pytest.mark.parametrize(
    "name, start, end",
    [
        ("no replacement", [position(1)], [TAG, EOS_ID]),
        ("a tag without position", [], [TAG, EOS_ID]),
        ("text without position", [], [None, TAG, EOS_ID]),
        ("x2 after the text", [position(1)], [None, X2_ID, TAG, EOS_ID]),
        ("x2 twice", [position(1), X2_ID, X2_ID], [None, TAG, EOS_ID]),
        ("padding inside", [position(1), PAD_ID], [None, TAG, EOS_ID]),
        ("a separator inside", [position(1)], [None, SEP_ID, TAG, EOS_ID]),
        ("a word beyond the sentence", [position(4)], [None, TAG, EOS_ID]),
        ("two words at the last one", [position(3), X2_ID], [None, TAG, EOS_ID]),
        ("the end before the tag", [position(1)], [None, EOS_ID]),
        ("cut off by length", [position(1)], [None]),
    ],
)
def test_a_malformed_edit_is_dropped_and_counted(tokenizer, name, start, end):
    (went,) = tokenizer.encode_piece(" went")
    ids = [*start, *(went if token_id is None else token_id for token_id in end)]

    assert parse_script(tokenizer, ids, num_words=4) == ScriptOutcome((), num_dropped=1), name


@pytest.mark.parametrize("seed", range(20))
def test_no_sequence_of_tokens_makes_the_parser_raise(tokenizer, seed):
    rng = random.Random(seed)
    limits = [(0, NUM_SPECIAL_TOKENS + 40) if rng.random() < 0.9 else (-5, 9000) for _ in range(400)]
    ids = [rng.randrange(low, high) for low, high in limits]

    outcome = parse_script(tokenizer, ids, num_words=64)

    ends = [0] + [edit.word + edit.num_words for edit in outcome.edits]
    assert all(edit.word >= end for edit, end in zip(outcome.edits, ends, strict=False))
    assert ends[-1] <= 64


def test_the_parser_reads_a_confidence_between_one_half_and_one(tokenizer):
    start, text, tag, end = tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
    read = [
        parse_script(tokenizer, [start, text, tag | steps << ID_BITS, end], 4).edits[0].confidence
        for steps in range(16)
    ]

    assert read[0] == 1.0, "a worker that says nothing"
    assert read[1] > 0.5 and read[1:] == sorted(read[1:]) and read[15] < 1.0
