"""Two edits that make sense together only: a word that moves far, an auxiliary that changes with its verb."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason as R  # noqa: N817
from tests.unit.test_pipeline import PIPELINE, WENT, conclude


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected", "why"),
    [
        (
            "Where the new bank is?",
            [ScriptEdit(1, 1, "is the", R.QUESTION_ORDER), ScriptEdit(3, 2, "bank", R.QUESTION_ORDER)],
            "Where is the new bank?",
            "In a question 'is' comes before the subject. So 'is' does not stand here, after the subject.",
        ),
        (
            "WHERE A NEW BANK IS?",
            [ScriptEdit(1, 1, "is a", R.QUESTION_ORDER), ScriptEdit(3, 2, "bank", R.QUESTION_ORDER)],
            "WHERE IS A NEW BANK?",
            "In a question 'is' comes before the subject. So 'is' does not stand here, after the subject.",
        ),
        (
            "Do you know where is the bank?",
            [ScriptEdit(4, 2, "the", R.QUESTION_ORDER), ScriptEdit(6, 1, "bank is", R.QUESTION_ORDER)],
            "Do you know where the bank is?",
            "Inside another sentence a question keeps the order of a statement: 'is' follows the subject. "
            "So 'is' stands here, after the subject.",
        ),
    ],
)
def test_two_edits_may_move_an_auxiliary_past_a_long_subject(
    sentence: str, edits: list[ScriptEdit], corrected: str, why: str
) -> None:
    correction = conclude(sentence, *edits)

    assert (correction.corrected, correction.explanation) == (corrected, why)


def test_an_auxiliary_moves_in_front_after_never_too():
    correction = conclude(
        "Never my old aunt has complained.",
        ScriptEdit(1, 1, "has my", R.QUESTION_ORDER),
        ScriptEdit(3, 2, "aunt", R.QUESTION_ORDER),
    )

    assert correction.corrected == "Never has my old aunt complained."
    assert correction.explanation == (
        "After 'never' 'has' comes before the subject. So 'has' does not stand here, after the subject."
    )


@pytest.mark.parametrize("sentence", ["You must stop, but children go", "You must a b c d e f g h i j k l go"])
def test_no_auxiliary_moves_over_a_mark_or_far_away(sentence: str) -> None:
    last = len(PIPELINE.prepare(sentence).prompt.words) - 1
    back = [ScriptEdit(1, 2, sentence.split()[2].strip(","), R.QUESTION_ORDER),
            ScriptEdit(last, 1, "go must", R.QUESTION_ORDER)]  # fmt: skip

    assert conclude(sentence, *back).corrected == sentence


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected"),
    [
        (
            "Are you often singing?",
            [ScriptEdit(0, 1, "do", R.HABIT), ScriptEdit(3, 1, "sing", R.HABIT)],
            "Do you often sing?",
        ),
        (
            "I am not knowing him.",
            [ScriptEdit(1, 2, "don't", R.STATIVE), ScriptEdit(3, 1, "know", R.STATIVE)],
            "I don't know him.",
        ),
        ("Are you often singing?", [ScriptEdit(0, 1, "do", R.HABIT)], "Are you often singing?"),
        ("He is a teacher.", [ScriptEdit(1, 1, "does", R.STATIVE)], "He is a teacher."),
        ("She was not happy.", [ScriptEdit(1, 2, "didn't", R.STATIVE)], "She was not happy."),
        ("He do it.", [ScriptEdit(1, 1, "does", R.HABIT)], "He does it."),
    ],
)
def test_do_takes_the_place_of_be_only_where_the_verb_is_mended_too(
    sentence: str, edits: list[ScriptEdit], corrected: str
) -> None:
    correction = conclude(sentence, *edits)

    assert correction.corrected == corrected
    if len(edits) == 2:
        assert correction.explanation.startswith("The simple tense makes its questions and negatives with 'do': ")


def test_two_edits_may_put_a_verb_behind_its_subject():
    correction = conclude(
        "What means this word?", ScriptEdit(1, 1, "does", R.DO_SUPPORT), ScriptEdit(3, 1, "word mean", R.DO_SUPPORT)
    )

    assert correction.corrected == "What does this word mean?"
    assert correction.explanation == (
        "A question like this needs 'does' before the subject: 'does', not 'means'. "
        "After 'do' and the subject comes the base form of the verb: 'mean'."
    )


@pytest.mark.parametrize(
    "edits",
    [
        [ScriptEdit(1, 1, "does", R.DO_SUPPORT)],
        [ScriptEdit(1, 1, "does", R.DO_SUPPORT), ScriptEdit(3, 1, "word cost", R.DO_SUPPORT)],
        [ScriptEdit(1, 1, "did", R.DO_SUPPORT), ScriptEdit(3, 1, "word meant", R.DO_SUPPORT)],
        [ScriptEdit(1, 1, "must", R.DO_SUPPORT), ScriptEdit(3, 1, "word mean", R.DO_SUPPORT)],
    ],
)
def test_no_verb_gets_lost_or_another_one_in_on_the_way(edits: list[ScriptEdit]) -> None:
    assert not conclude("What means this word?", *edits).edits


@pytest.mark.parametrize(
    ("sentence", "edits"),
    [
        ("He goed and she goed", [WENT, ScriptEdit(4, 1, "went", R.PAST_IRREG)]),
        (
            "He not like it and she not like it",
            [ScriptEdit(1, 2, "does not like", R.DO_SUPPORT), ScriptEdit(6, 2, "does not like", R.DO_SUPPORT)],
        ),
    ],
)
def test_the_same_explanation_of_two_mistakes_is_given_twice(sentence: str, edits: list[ScriptEdit]) -> None:
    correction = conclude(sentence, *edits)

    assert correction.explanation == " ".join([correction.edits[0].explanation] * 2)


@pytest.mark.parametrize(
    "edits",
    [
        [ScriptEdit(4, 2, "the", R.QUESTION_ORDER)],
        [ScriptEdit(4, 2, "the", R.QUESTION_ORDER), ScriptEdit(6, 1, "bank was", R.QUESTION_ORDER)],
        [ScriptEdit(4, 2, "is", R.QUESTION_ORDER), ScriptEdit(6, 1, "the bank", R.QUESTION_ORDER)],
    ],
)
def test_half_a_move_is_none(edits: list[ScriptEdit]) -> None:
    assert not conclude("Do you know where is the bank?", *edits).edits


@pytest.mark.parametrize(
    ("sentence", "edits"),
    [
        ("Where the new bank, is?", [(1, 1, "is the"), (3, 2, "bank")]),
        ("Do you know where is, the bank?", [(4, 2, "the"), (6, 1, "bank is")]),
        ("They have a can of beer", [(1, 1, "can have"), (2, 2, "a")]),
        ("He went in May with Tom", [(2, 2, "in"), (5, 1, "tom may")]),
        ("The bank that Will Smith is in", [(3, 2, "smith"), (6, 1, "in will")]),
        ("Where the new bank is open?", [(1, 1, "is the"), (4, 2, "open")]),  # would be explained both ways
    ],
)
def test_a_move_that_cannot_be_made_whole_is_not_made(sentence: str, edits: list[tuple[int, int, str]]) -> None:
    script = [ScriptEdit(*edit, R.QUESTION_ORDER) for edit in edits]

    assert conclude(sentence, *script).corrected == sentence


def test_an_edit_is_half_of_one_move_only():
    edits = [ScriptEdit(4, 1, "can the", R.QUESTION_ORDER), ScriptEdit(5, 2, "bank", R.QUESTION_ORDER),
             ScriptEdit(7, 1, "open can", R.QUESTION_ORDER)]  # fmt: skip

    correction = conclude("Do you know where the bank can open it", *edits)

    assert correction.corrected == "Do you know where can the bank open it"
    assert correction.num_dropped == 1
