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
from scheduler.errors import SentenceTooLong
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
        "My teacher always says to me[ ]that it are never too late for a new start.",
        "The plan was good on paper[ \u2013 ]nobody asked the people in the village about it.",
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
        'He wrote "the team was good, and they have won nearly all the games of the year" on the wall.',
        "The house (it was built long ago, and it has never been painted since) belongs to my aunt.",
        "After a long walk to the top of the hill and back, they lied.",
        "Since the shop near the station has closed, we buys all our bread in town.",  # says its tense
        "If we win the big prize next month, I would buy my mum a house.",
        "When my mother was young, she work in a toy factory in the north.",
        "I has seen your old teacher yesterday, and she ask me what you do.",
        "We met your old teacher in town, and she ask me what you do.",
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
