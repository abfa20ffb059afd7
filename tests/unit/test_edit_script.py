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
from scheduler.messages import ID_BITS, WITHDRAWN_ID

TAG = TAG_IDS[Reason.PAST_IRREG]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def position(number: int) -> int:
    return FIRST_POSITION_ID + number


def test_every_kind_of_edit_survives_a_round_trip(tokenizer):
    edits = (
        ScriptEdit(0, 1, "went", Reason.PAST_IRREG),
        ScriptEdit(2, 2, "believes", Reason.EXTRA_BE),
        ScriptEdit(5, 1, "are singing", Reason.MISSING_BE),
        ScriptEdit(62, 2, "doesn't", Reason.SVA_SG),
    )

    outcome = parse_script(tokenizer, tokenizer.encode_output(edits), num_words=64)

    assert outcome == ScriptOutcome(edits, num_dropped=0)


def test_an_edit_is_complete_at_its_tag_and_not_before(tokenizer):
    ids = tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])

    outcomes = [parse_script(tokenizer, ids[:length], num_words=4) for length in range(len(ids) + 1)]

    assert [len(outcome.edits) for outcome in outcomes] == [0] * (len(ids) - 1) + [1, 1]


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


GOOD = ScriptEdit(3, 1, "went", Reason.PAST_IRREG)


@pytest.mark.parametrize(
    ("begin", "edits", "kept", "num_dropped"),
    [
        ([EOS_ID], [GOOD], [], 0),  # tokens after the end mean nothing
        ([position(1), TAG], [GOOD], [0], 1),
        ([position(1), X2_ID], [GOOD], [0], 1),  # interrupted
        ([], [GOOD, ScriptEdit(1, 1, "go", Reason.BASE_TO), ScriptEdit(4, 1, "go", Reason.BASE_TO)], [0, 2], 1),
        ([], [ScriptEdit(2, 2, "went", Reason.PAST_IRREG), GOOD], [0], 1),  # overlapping
    ],
)
def test_a_good_edit_is_kept_beside_a_bad_one(tokenizer, begin, edits, kept, num_dropped):
    outcome = parse_script(tokenizer, [*begin, *tokenizer.encode_output(edits)], num_words=9)

    assert outcome == ScriptOutcome(tuple([edits[at] for at in kept]), num_dropped)


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


def test_a_withdrawn_edit_is_no_fault_of_the_output(tokenizer):
    outcome = parse_script(tokenizer, [FIRST_POSITION_ID, 300, WITHDRAWN_ID], 4)

    assert outcome == ScriptOutcome((), num_dropped=0)
