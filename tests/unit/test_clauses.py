"""Where a long sentence is cut into clauses, and that its answer is one of the sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.clauses import find_clauses
from api.grammar.correction import NoteCode
from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from api.streams.routes import EditStream
from scheduler.errors import SentenceTooLong
from scheduler.messages import Completion, FinishReason
from tests.corrections import PIPELINE, TOKENIZER, conclude_text

WORDS = VerbWords(VerbTable.load())


def clauses(sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in find_clauses(sentence, WORDS)]


@pytest.mark.parametrize(
    "marked",
    [
        "The old farmer lives next to us[, ]and his son helps my father.",
        "Because the shop near the station has closed[, ]we buys all our bread in town.",
        "Because the shop near the station was closed[, ]we bought all our bread in town.",
        "We lost the match on Sunday[; ]but our trainer was not angry at all[, ]because the boys had played so well.",
        "The plan was good on paper[ \u2013 ]they asked the people in the village about it.",
        "My sister has two big dogs[, ]she walk with them to the old mill every day.",
        "I have no car at the moment[ ]so I goes to work by bus every day.",
        "I have no car at the moment so my father goes to work by bus every day.",
    ],
)
def test_a_long_sentence_is_cut_where_a_clause_ends(marked: str) -> None:
    parts = re.split(r"\[[^]]*\]", marked)

    assert clauses(re.sub(r"[\[\]]", "", marked)) == parts


@pytest.mark.parametrize(
    "sentence",
    [
        "He came home late, and she left.",  # short
        "The method of the old team and all its, and the results of the test are in the book.",  # no verb before it
        "We met the captain of the team, the trainer with the red cap and many old friends of ours.",
        'He writes "the team is good, and they have won nearly all the games of the year" on the wall.',
        'He writes (in "the team is good, and they have won nearly all the games of the year") on the wall.',
        "The house (it is very old, and it has never been painted before) belongs to my aunt.",
        "1) My aunt lives here with us, and she have a big dog and two old cats.",
        "The book *my friend has a cat, and they lives together in a house* is on the table.",
        "The people who live next to us, I think, are very good to all of us.",
        "The one thing that he has never liked here, the weather, do not bother me at all.",
        "Let him say what he wants to all of us, and his wife say what she wants.",
        "My aunt, who lives in the town, and her brother are with us this year.",
        "Everyone in the village knows that my wife and I are very happy here.",
        "My neighbour is so happy about it that he have a party with us every week.",
        "After a long walk to the top of the hill and back, they lied.",
        "Since the shop near the station has closed, we buys all our bread in town.",  # says its tense
        "If we win the big prize next month, I would buy my mum a house.",
        "When my mother was young, she work in a toy factory in the north.",
        "I has seen your old teacher yesterday, and she ask me what you do.",
        "We met your old teacher in town, and she ask me what you do.",
        "My father went to the shop near the station, and he buy a lot of bread.",
        "Last week he work in the garden with us, and he live in the old house.",
        "In 2010 they move to the big house in town, and they buy a new car.",
        "We go to the lake every day, but if it rains tomorrow, I would stay at home.",
        "I would buy my mum a house in town, if I win the big prize next month.",
        "",
    ],
)
def test_what_is_short_or_belongs_together_is_not_cut(sentence: str) -> None:
    assert clauses(sentence) == [sentence]


@given(
    st.lists(
        st.sampled_from(
            [
                "he",
                "goed",
                "home",
                ", and",
                ", but",
                ";",
                "that",
                "it",
                "is",
                "the",
                '"',
                "(",
                ")",
                "\u201c",
                "\u201d",
                ":",
                "\n",
            ]
        ),
        max_size=60,
    )
)
def test_clauses_are_in_order_and_only_marks_and_blanks_stand_between_them(words: list[str]) -> None:
    sentence = " ".join(words)
    places = find_clauses(sentence, WORDS)

    assert places[0][0] == 0
    assert places[-1][1] == len(sentence)
    for (_, end), (start, _) in zip(places, places[1:], strict=False):
        assert set(sentence[end:start]) <= set(",;: \n")
        assert end < start


LONG = "Every day my old neighbour goes to the lake, and then he swim for an hour."
SWIMS = ScriptEdit(3, 1, "swims", Reason.SVA_SG)


def outputs(*edits: list[ScriptEdit]) -> list[list[int]]:
    return [TOKENIZER.encode_output(own) for own in edits]


@pytest.mark.parametrize("before", ["", "He came. "])
def test_an_edit_of_a_later_clause_has_its_place_in_the_text(before: str) -> None:
    correction = conclude_text(before + LONG, outputs(*[[]] * bool(before), [], [SWIMS]))
    (edit,) = correction.edits

    assert correction.corrected == before + LONG.replace("swim", "swims")
    assert (before + LONG)[edit.start : edit.end] == "swim"


def test_a_later_clause_has_the_apostrophes_of_its_sentence_and_places_in_its_units() -> None:
    text = "\U0001f600 It\u2019s a big old house near us, and he do not like it at all."
    draft = PIPELINE.prepare_text(text, offsets="utf16")
    edits = [[], [ScriptEdit(1, 2, "doesn't", Reason.SVA_SG)]]
    PIPELINE.add_answers(draft, zip(draft.take(), outputs(*edits), strict=True))

    correction = PIPELINE.conclude_text(draft)

    assert correction.corrected == text.replace("do not", "doesn\u2019t")
    assert [(edit.start, edit.end) for edit in correction.edits] == [(text.index("do") + 1, text.index("not") + 4)]


def test_a_stream_gives_the_edits_of_a_clause_their_places_in_the_text() -> None:
    draft = PIPELINE.prepare_text("He came. " + LONG)
    stream = EditStream(PIPELINE, draft.reading, draft.take())
    done = [Completion("id", FinishReason.STOP, tuple(ids)) for ids in outputs([], [], [SWIMS])]

    assert stream.new_edits([done[0], (), tuple(done[2].output_ids[:-2])]) == []
    (edit,) = stream.new_edits(done)
    assert ("He came. " + LONG)[edit.start : edit.end] == "swim"


def test_an_edit_refused_in_a_later_clause_of_a_foreign_sentence_is_worth_a_note() -> None:
    foreign = "Der Mann is in haus mit der Frau, and they was nicht in Stadt."
    text = f"We were at home and it was late. {foreign}"

    notes = conclude_text(text, outputs([], [], [ScriptEdit(1, 1, "were", Reason.SVA_BE)])).notes

    assert [(note.code, text[note.start : note.end]) for note in notes] == [(NoteCode.NOT_ENGLISH, foreign)]


def test_a_foreign_sentence_is_noted_once_and_as_a_whole() -> None:
    english = "We were at home and it was late."
    foreign = "De man is gisteren in de stad geweest, we was het boek van zijn vader kwijt geraakt."
    other = "Het was heel koud in de stad, we is met de trein naar huis gegaan en toen was het donker."
    text = f"{english} {foreign} {other}"

    notes = conclude_text(text, outputs(*[[]] * 5)).notes

    assert [(note.code, text[note.start : note.end]) for note in notes] == [
        (NoteCode.NOT_ENGLISH, foreign), (NoteCode.NOT_ENGLISH, other)
    ]  # fmt: skip


def test_a_sentence_of_more_words_than_the_model_takes_is_read_by_clauses() -> None:
    clause = "we have seen the old town, and they have walked to the lake with us"
    text = ", and ".join([clause] * 6)

    assert conclude_text(text, outputs(*[[]] * 12)).corrected == text
    with pytest.raises(SentenceTooLong, match="70 words"):
        PIPELINE.prepare_text("They said that it is late, and " + "very " * 62 + "late.")
