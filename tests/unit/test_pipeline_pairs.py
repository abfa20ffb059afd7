"""Two edits that make sense together only: a word that moves far, an auxiliary that changes with its verb."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import Correction
from api.grammar.reasons import Reason
from tests.unit.test_pipeline import PIPELINE, conclude

Edit = tuple[int, int, str]
MOVED = "In a question 'is' comes before the subject. So 'is' does not stand here, after the subject."
MOVED_BACK = (
    "Inside another sentence a question keeps the order of a statement: 'is' follows the subject. "
    "So 'is' stands here, after the subject."
)
WITHOUT_DO = (
    "'can' makes its question without 'do': it comes before the subject itself. "
    "So 'can' does not stand here, after the subject."
)
BESIDE_NEVER = "After 'never', 'has' comes before the subject. So 'has' does not stand here, after the subject."


def corrected_by(reason: Reason, sentence: str, *edits: Edit) -> Correction:
    return conclude(sentence, *(ScriptEdit(*edit, reason) for edit in edits))


def move(sentence: str, *edits: Edit) -> Correction:
    return corrected_by(Reason.QUESTION_ORDER, sentence, *edits)


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected", "why"),
    [
        ("Where the new bank is?", [(1, 1, "is the"), (3, 2, "bank")], "Where is the new bank?", MOVED),
        ("WHERE A NEW BANK IS?", [(1, 1, "is a"), (3, 2, "bank")], "WHERE IS A NEW BANK?", MOVED),
        ("Do you know where is the bank?", [(4, 2, "the"), (6, 1, "bank is")], "Do you know where the bank is?",
         MOVED_BACK),
        ("Do you can swim?", [(0, 1, "can"), (1, 2, "you")], "Can you swim?", WITHOUT_DO),
        ("What does my old aunt can see?", [(1, 1, "can"), (4, 2, "aunt")], "What can my old aunt see?", WITHOUT_DO),
        ("Never my old aunt has complained.", [(1, 1, "has my"), (3, 2, "aunt")],
         "Never has my old aunt complained.", BESIDE_NEVER),
    ],
)  # fmt: skip
def test_two_edits_may_move_an_auxiliary_past_a_long_subject(
    sentence: str, edits: list[Edit], corrected: str, why: str
) -> None:
    correction = move(sentence, *edits)

    assert (correction.corrected, correction.explanation) == (corrected, why)


@pytest.mark.parametrize(
    "edits", [[(0, 1, "can")], [(1, 2, "you")], [(0, 1, "must"), (1, 2, "you")], [(0, 1, "can"), (1, 2, "we")]]
)
def test_a_do_goes_only_where_the_modal_behind_the_subject_takes_its_place(edits: list[Edit]) -> None:
    assert move("Do you can swim?", *edits).corrected == "Do you can swim?"


@pytest.mark.parametrize("sentence", ["You must stop, but children go", "You must a b c d e f g h i j k l go"])
def test_no_auxiliary_moves_over_a_mark_or_far_away(sentence: str) -> None:
    last = len(PIPELINE.prepare(sentence).prompt.words) - 1

    correction = move(sentence, (1, 2, sentence.split()[2].strip(",")), (last, 1, "go must"))

    assert correction.corrected == sentence


@pytest.mark.parametrize(
    ("sentence", "reason", "edits", "corrected"),
    [
        ("Are you often singing?", Reason.HABIT, [(0, 1, "do"), (3, 1, "sing")], "Do you often sing?"),
        ("I am not knowing him.", Reason.STATIVE, [(1, 2, "don't"), (3, 1, "know")], "I don't know him."),
        ("Are you often singing?", Reason.HABIT, [(0, 1, "do")], "Are you often singing?"),
        ("He is a teacher.", Reason.STATIVE, [(1, 1, "does")], "He is a teacher."),
        ("She was not happy.", Reason.STATIVE, [(1, 2, "didn't")], "She was not happy."),
        ("He do it.", Reason.HABIT, [(1, 1, "does")], "He does it."),
    ],
)
def test_do_takes_the_place_of_be_only_where_the_verb_is_mended_too(
    sentence: str, reason: Reason, edits: list[Edit], corrected: str
) -> None:
    correction = corrected_by(reason, sentence, *edits)

    assert correction.corrected == corrected
    if len(edits) == 2:
        first, second = correction.edits
        assert (
            "takes the simple tense: 'do you often sing'" in first.explanation or "names a state" in first.explanation
        )
        assert second.explanation.startswith("So here it is ")


def test_two_edits_may_put_a_verb_behind_its_subject():
    correction = corrected_by(Reason.DO_SUPPORT, "What means this word?", (1, 1, "does"), (3, 1, "word mean"))

    assert correction.corrected == "What does this word mean?"
    assert correction.explanation == (
        "A question like this needs 'does' before the subject: 'does', not 'means'. "
        "After 'do' and the subject comes the base form of the verb: 'mean'."
    )


@pytest.mark.parametrize(
    "edits",
    [
        [(1, 1, "does")], [(1, 1, "does"), (3, 1, "word cost")], [(1, 1, "did"), (3, 1, "word meant")],
        [(1, 1, "must"), (3, 1, "word mean")],
    ],
)  # fmt: skip
def test_no_verb_gets_lost_or_another_one_in_on_the_way(edits: list[Edit]) -> None:
    assert not corrected_by(Reason.DO_SUPPORT, "What means this word?", *edits).edits


@pytest.mark.parametrize(
    ("sentence", "reason", "edits"),
    [
        ("He goed and she goed", Reason.PAST_IRREG, [(1, 1, "went"), (4, 1, "went")]),
        ("He not like it and she not like it", Reason.DO_SUPPORT, [(1, 2, "does not like"), (6, 2, "does not like")]),
    ],
)
def test_the_same_explanation_of_two_mistakes_is_given_twice(sentence: str, reason: Reason, edits: list[Edit]) -> None:
    correction = corrected_by(reason, sentence, *edits)

    assert correction.explanation == " ".join([correction.edits[0].explanation] * 2)


@pytest.mark.parametrize(
    ("sentence", "edits"),
    [
        ("Do you know where is the bank?", [(4, 2, "the")]),
        ("Do you know where is the bank?", [(4, 2, "the"), (6, 1, "bank was")]),
        ("Do you know where is the bank?", [(4, 2, "is"), (6, 1, "the bank")]),
        ("Where the new bank, is?", [(1, 1, "is the"), (3, 2, "bank")]),
        ("Do you know where is, the bank?", [(4, 2, "the"), (6, 1, "bank is")]),
        ("They have a can of beer", [(1, 1, "can have"), (2, 2, "a")]),
        ("He went in May with Tom", [(2, 2, "in"), (5, 1, "tom may")]),
        ("The bank that Will Smith is in", [(3, 2, "smith"), (6, 1, "in will")]),
        ("Where the new bank is open?", [(1, 1, "is the"), (4, 2, "open")]),  # would be explained both ways
    ],
)
def test_a_move_that_cannot_be_made_whole_is_not_made(sentence: str, edits: list[Edit]) -> None:
    correction = move(sentence, *edits)

    assert (correction.corrected, correction.edits) == (sentence, ())


def test_an_edit_is_half_of_one_move_only():
    correction = move("Do you know where the bank can open it", (4, 1, "can the"), (5, 2, "bank"), (7, 1, "open can"))

    assert correction.corrected == "Do you know where can the bank open it"
    assert correction.num_dropped == 1
