"""Two edits that make sense together only: a word that moves far, an auxiliary that changes with its verb."""

from __future__ import annotations

import pytest

from api.grammar import pipeline
from api.grammar.correction import Correction
from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from scheduler.messages import ID_BITS
from tests.unit.test_pipeline import PIPELINE, TOKENIZER, conclude

Edit = tuple[int, int, str]
MOVED = "In a question 'is' comes before the subject: "
MOVED_BACK = "Inside another sentence a question keeps the order of a statement: "


def corrected_by(reason: Reason, sentence: str, *edits: Edit) -> Correction:
    return conclude(sentence, *(ScriptEdit(*edit, reason) for edit in edits))


def move(sentence: str, *edits: Edit) -> Correction:
    return corrected_by(Reason.QUESTION_ORDER, sentence, *edits)


def assert_one_edit(correction: Correction, sentence: str) -> pipeline.Edit:
    """The edit; by itself it makes the corrected sentence of the one that was sent."""
    (edit,) = correction.edits
    assert sentence[edit.start : edit.end] == edit.original
    assert sentence[: edit.start] + edit.replacement + sentence[edit.end :] == correction.corrected
    assert edit.explanation == correction.explanation
    return edit


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected", "why"),
    [
        ("Where the new bank is?", [(1, 1, "is the"), (3, 2, "bank")], "Where is the new bank?",
         MOVED + "'is the new bank', not 'the new bank is'."),
        ("WHERE A NEW BANK IS?", [(1, 1, "is a"), (3, 2, "bank")], "WHERE IS A NEW BANK?",
         MOVED + "'is a new bank', not 'a new bank is'."),
        ("Do you know where is the bank?", [(4, 2, "the"), (6, 1, "bank is")], "Do you know where the bank is?",
         MOVED_BACK + "'the bank is', not 'is the bank'."),
        ("Do you know where\tis the  bank?", [(4, 2, "the"), (6, 1, "bank is")], "Do you know where\tthe  bank is?",
         MOVED_BACK + "'the bank is', not 'is the bank'."),
        ("Do you can swim?", [(0, 1, "can"), (1, 2, "you")], "Can you swim?",
         "'can' makes its question without 'do': 'can you', not 'do you can'."),
        ("What does my old aunt can see?", [(1, 1, "can"), (4, 2, "aunt")], "What can my old aunt see?",
         "'can' makes its question without 'does': 'can my old aunt', not 'does my old aunt can'."),
        ("Never my old aunt has complained.", [(1, 1, "has my"), (3, 2, "aunt")], "Never has my old aunt complained.",
         "After 'never', 'has' comes before the subject: 'has my old aunt', not 'my old aunt has'."),
    ],
)  # fmt: skip
def test_two_edits_may_move_an_auxiliary_past_a_long_subject(
    sentence: str, edits: list[Edit], corrected: str, why: str
) -> None:
    correction = move(sentence, *edits)

    assert (correction.corrected, correction.explanation) == (corrected, why)
    assert_one_edit(correction, sentence)


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
        ("Are you, dear, knowing him?", Reason.STATIVE, [(0, 1, "do"), (3, 1, "know")], "Do you, dear, know him?"),
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
        edit = assert_one_edit(correction, sentence)
        assert "takes the simple tense: 'do you often sing'" in edit.explanation or "names a state" in edit.explanation


def test_an_auxiliary_stays_that_the_participle_of_the_next_edit_needs() -> None:
    no_be, participle = ScriptEdit(0, 1, "he", Reason.EXTRA_BE), ScriptEdit(1, 1, "gone", Reason.PERF_PART)

    correction = conclude("he's went home", no_be, participle)

    assert (correction.corrected, correction.num_dropped) == ("he's gone home", 1)


def test_two_edits_may_put_a_verb_behind_its_subject():
    correction = corrected_by(Reason.DO_SUPPORT, "What means this word?", (1, 1, "does"), (3, 1, "word mean"))

    assert correction.corrected == "What does this word mean?"
    assert correction.explanation == (
        "A question like this needs 'does' before the subject and the base form of the verb: "
        "'does this word mean', not 'means this word'."
    )
    assert_one_edit(correction, "What means this word?")


@pytest.mark.parametrize("reason", [Reason.BASE_DO, Reason.DO_SUPPORT])
def test_a_do_and_the_base_form_after_it_are_one_edit(reason: Reason) -> None:
    sentence = "Where your little brother lives now?"
    does, live = ScriptEdit(1, 1, "does your", Reason.DO_SUPPORT), ScriptEdit(4, 1, "live", reason)

    correction = conclude(sentence, does, live)

    assert correction.corrected == "Where does your little brother live now?"
    assert assert_one_edit(correction, sentence).original == "your little brother lives"
    assert "'does your little brother live', not 'your little brother lives'" in correction.explanation


@pytest.mark.parametrize(
    ("sentence", "edits"),
    [
        ("Where your brother lives, and where he lives?", [(1, 1, "does your"), (7, 1, "live")]),
        ("Where your brother is when he lives there?", [(1, 1, "does your"), (6, 1, "live")]),
        ("Why you are here and he lives there?", [(1, 1, "do you"), (6, 1, "live")]),
    ],
)
def test_a_do_has_its_base_form_in_its_own_clause(sentence: str, edits: list[Edit]) -> None:
    correction = conclude(sentence, *[ScriptEdit(*edit, Reason.DO_SUPPORT) for edit in edits])

    assert all(" lives" not in edit.original for edit in correction.edits)


def test_two_edits_that_hold_only_together_are_as_sure_as_the_less_certain_of_them() -> None:
    sentence, moved = "Do you know where is the bank?", [(4, 2, "the", 12), (6, 1, "bank is", 4)]
    ids: list[int] = []
    for word, num_words, text, steps in moved:
        start = TOKENIZER.encode_output([ScriptEdit(word, num_words, text, Reason.QUESTION_ORDER)])[:-1]
        ids += [*start[:-1], start[-1] | steps << ID_BITS]

    (edit,) = PIPELINE.conclude(PIPELINE.prepare(sentence), ids).edits
    correction = PIPELINE.conclude(PIPELINE.prepare(sentence, min_confidence=0.95), ids)

    assert 0.8 < edit.confidence < 0.95
    assert (correction.corrected, [note.code.value for note in correction.notes]) == (sentence, ["left-out"])
    assert f"of {edit.confidence:g}, under min_confidence 0.95, was left out" in correction.notes[0].detail
    assert PIPELINE.certain_edits(PIPELINE.prepare(sentence), ids) == ()


def test_behind_a_do_that_is_there_a_verb_goes_behind_its_subject():
    correction = corrected_by(Reason.DO_SUPPORT, "What does means this word?", (2, 2, "this"), (4, 1, "word mean"))

    assert correction.corrected == "What does this word mean?"
    assert correction.explanation == (
        "After 'do' comes the subject, and then the base form of the verb: 'this word mean', not 'means this word'."
    )
    assert_one_edit(correction, "What does means this word?")
    assert not corrected_by(Reason.DO_SUPPORT, "What does means this word?", (2, 2, "this")).edits


@pytest.mark.parametrize(
    ("sentence", "halves"),
    [
        ("She means this word.", [(1, 2, "this"), (3, 1, "word mean")]),
        ("He likes his old car very much.", [(1, 2, "his"), (4, 1, "car like")]),
    ],
)
def test_where_there_is_no_do_a_verb_stays_before_what_follows_it(sentence: str, halves: list[tuple[int, int, str]]):
    correction = corrected_by(Reason.DO_SUPPORT, sentence, *halves)

    assert (correction.corrected, correction.num_dropped) == (sentence, 2)


@pytest.mark.parametrize(
    ("sentence", "halves"),
    [
        ("Are you knowing him?", [ScriptEdit(0, 1, "do", Reason.STATIVE), ScriptEdit(2, 1, "eat", Reason.STATIVE)]),
        (
            "Where your brother lives now?",
            [ScriptEdit(1, 1, "does your", Reason.DO_SUPPORT), ScriptEdit(3, 1, "eat", Reason.BASE_DO)],
        ),
        (
            "He is always behave well",
            [ScriptEdit(1, 2, "always", Reason.EXTRA_BE), ScriptEdit(3, 1, "eats", Reason.EXTRA_BE)],
        ),
    ],
)
def test_what_holds_only_together_is_left_where_one_half_is_refused(sentence: str, halves: list[ScriptEdit]):
    correction = PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output(halves))

    assert (correction.corrected, correction.edits) == (sentence, ())


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
