"""Texts of several sentences: one draft each, one answer for all, offsets into the text that was sent."""

from __future__ import annotations

import pytest

from api.grammar.correction import Correction, NoteCode
from api.grammar.edit_script import ScriptEdit
from api.grammar.language import NOT_ENGLISH, NOTHING_FOUND, PARTLY_ENGLISH
from api.grammar.reasons import Reason
from tests.corrections import PIPELINE, TOKENIZER, conclude_text

WENT = ScriptEdit(1, 1, "went", Reason.PAST_IRREG)
HAS = ScriptEdit(1, 1, "has", Reason.S_SPELL)


def conclude(text: str, *edits: list[ScriptEdit]) -> Correction:
    return conclude_text(text, [TOKENIZER.encode_output(own) for own in edits])


def test_edits_that_make_no_sense_are_counted_over_all_sentences() -> None:
    beyond = ScriptEdit(9, 1, "went", Reason.PAST_IRREG)

    correction = conclude("He goed home. She came. He goed.", [beyond, WENT], [], [beyond])

    assert (correction.corrected, correction.num_dropped) == ("He went home. She came. He goed.", 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("He came.", NOTHING_FOUND),
        ("He came. She left.", NOTHING_FOUND),
        ("Er kam nach Hause.", NOT_ENGLISH),
        ("Er kam. Dann ging er wieder.", NOT_ENGLISH),
        ("We were at home and it was late. Er kam dann auch noch nach Hause.", f"{NOTHING_FOUND} {PARTLY_ENGLISH}"),
        (
            "We were at home and it was late. Er kam dann. Aber ich war nicht da. We have the keys to it.",
            f"{NOTHING_FOUND} {PARTLY_ENGLISH}",
        ),
        ("We were at home and it was late. Buon viaggio!", NOTHING_FOUND),
    ],
)
def test_a_text_without_edits_says_what_was_checked(text: str, said: str) -> None:
    assert conclude(text, *[[] for _ in text.split(". ")]) == Correction(text, (), said, 0)


@pytest.mark.parametrize(
    ("long_one", "why"),
    [
        ("Word " + "word " * 64 + "word.", "The sentence has 66 words; the model takes 64 words"),
        ("A" + " " * 9_000 + "word.", "`sentence` holds a sentence of 9,006 characters; at most 8,000 are read"),
        ("data:image/png;base64," + "QUJD" * 2_500 + " .", "The sentence has 2 words and more than 128 tokens"),
        ("So " + "\U0001f9ff " * 50 + "it is.", "The sentence has 3 words and 155 tokens; the model takes "),
    ],
)  # fmt: skip
def test_a_sentence_that_is_too_long_is_skipped_and_named_and_the_others_are_corrected(long_one: str, why: str) -> None:
    text = f"He goed home. {long_one} She haves it."

    correction = conclude(text, [WENT], [HAS])

    assert correction.corrected == f"He went home. {long_one} She has it."
    (note,) = correction.notes
    assert (note.code, text[note.start : note.end]) == (NoteCode.TOO_LONG, long_one)
    assert note.detail.startswith(why)
    assert correction.explanation.endswith(" 1 sentence is too long and was not read.")


def test_a_sentence_in_another_language_is_noted_where_it_stands_read_or_not() -> None:
    skipped, read = "Es ist nicht " + "gut und " * 31 + "schlecht.", "Das ist nicht so."
    text = f"{skipped} He goed home. {read}"

    correction = conclude(text, [WENT], [])

    assert correction.corrected == text.replace("goed", "went")
    noted = [text[note.start : note.end] for note in correction.notes if note.code is NoteCode.NOT_ENGLISH]
    assert noted == [skipped, read]
    assert PARTLY_ENGLISH in correction.explanation
    assert correction.language.code == "en"  # what was corrected is English


def test_a_text_of_which_every_sentence_is_too_long_is_answered_without_the_model() -> None:
    long_one = "Word " + "word " * 64 + "word."

    correction = conclude(f"{long_one} {long_one}")

    assert (correction.corrected, correction.edits) == (f"{long_one} {long_one}", ())
    assert [note.code for note in correction.notes] == [NoteCode.TOO_LONG] * 2
    assert correction.explanation.endswith("2 sentences are too long and were not read.")


def test_a_sentence_of_64_words_is_taken_between_others_and_one_of_65_is_not() -> None:
    longest = "word " * 63 + "word."

    assert len(PIPELINE.prepare_text(f"He came. {longest} She left.").take()) == 3
    longer = PIPELINE.prepare_text(f"He came. more {longest} She left.")
    assert len(longer.take()) == 2
    (skipped,) = longer.skipped
    assert (skipped.start, skipped.end) == (9, 9 + len(f"more {longest}"))


def test_the_sentences_of_a_text_are_prepared_when_they_are_taken() -> None:
    draft = PIPELINE.prepare_text("He came. " + "word " * 65 + "it. She left. They stay. ")

    assert [each.sentence for each in draft.take(2)] == ["He came.", "She left."]
    assert len(draft.skipped) == 1
    assert [each.sentence for each in draft.take()] == ["They stay."]
    assert draft.take() == [] and draft.num_taken == 3
