"""An edit that the words around it speak against is refused; where they do not, it is made."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.words import split_pieces
from tests.tables import table
from tests.unit.test_pipeline import conclude

R = Reason


def cases(name: str) -> list[tuple[str, ScriptEdit]]:
    return [(sentence, edit_of(sentence, old, new, Reason[reason])) for sentence, old, new, reason in table(name)]


def edit_of(sentence: str, old: str, new: str, reason: Reason) -> ScriptEdit:
    words = [piece.text for piece in split_pieces(sentence) if piece.word_number is not None]
    wanted = old.split(" ")
    place = next(at for at in range(len(words)) if words[at : at + len(wanted)] == wanted)
    return ScriptEdit(place, len(wanted), new, reason)


@pytest.mark.parametrize(("sentence", "edit"), cases("surroundings_refused"))
def test_a_right_sentence_of_a_kind_that_looks_wrong_stays_as_it_is(sentence: str, edit: ScriptEdit) -> None:
    assert conclude(sentence, edit).corrected == sentence


@pytest.mark.parametrize(("sentence", "edit"), cases("surroundings_allowed"))
def test_a_mistake_that_looks_like_such_a_sentence_is_mended(sentence: str, edit: ScriptEdit) -> None:
    assert [edit.replacement] == [made.replacement.lower() for made in conclude(sentence, edit).edits]


@pytest.mark.parametrize(
    ("sentence", "edit"),
    [
        ("I really is offering lunch", ScriptEdit(2, 1, "are", R.SVA_BE)),
        ("they often is late", ScriptEdit(2, 1, "was", R.SVA_BE)),
        ("She am late", ScriptEdit(1, 1, "are", R.SVA_BE)),
        ("We sings well", ScriptEdit(1, 1, "sings", R.SVA_SG)),
        ("They never sing", ScriptEdit(2, 1, "sings", R.SVA_SG)),
        ("he sings", ScriptEdit(1, 1, "sing", R.SVA_PL)),
        ("The rate remain high, with peaks in 1973", ScriptEdit(2, 1, "remains", R.SVA_SG)),
        ("He receive his degree from the School of Arts in 2000", ScriptEdit(1, 1, "receives", R.SVA_SG)),
        ("The boys leaves two years ago", ScriptEdit(2, 1, "leave", R.SVA_PL)),
        ("The rate remain high Last Year", ScriptEdit(2, 1, "remains", R.SVA_SG)),
        ("He don't go there last week", ScriptEdit(1, 1, "doesn't", R.SVA_SG)),
        ("He has announced that he'll fight next month", ScriptEdit(1, 2, "will announce", R.TENSE_FUT)),
        ("She cans drive a car", ScriptEdit(2, 1, "to drive", R.TO_INF)),
        ("How does works this machine?", ScriptEdit(1, 2, "works", R.DO_SUPPORT)),
        ("What does means this word?", ScriptEdit(1, 2, "means", R.DO_SUPPORT)),
        ("I like Fujairah but Dubai is rich", ScriptEdit(5, 1, "are", R.SVA_BE)),
        ("They sold it, that is, they gave it up", ScriptEdit(4, 1, "are", R.SVA_BE)),
        ("My sister have learned some Italian", ScriptEdit(2, 1, "had", R.SVA_SG)),
        ("I have been to the shop yesterday", ScriptEdit(1, 2, "was", R.PAST_NOT_PERF)),
        ("They have been to see us last week", ScriptEdit(1, 2, "were", R.PAST_NOT_PERF)),
        ("We don't want it", ScriptEdit(1, 1, "didn't", R.SVA_PL)),
        ("It cover more games than any other, notably those in 1980", ScriptEdit(1, 1, "covers", R.SVA_SG)),
    ],
)
def test_an_edit_that_would_be_a_mistake_itself_is_refused(sentence: str, edit: ScriptEdit) -> None:
    assert conclude(sentence, edit).corrected == sentence


@pytest.mark.parametrize(
    ("sentence", "edit", "corrected"),
    [
        ("I really is late", ScriptEdit(2, 1, "am", R.SVA_BE), "I really am late"),
        ("Ann and I is late", ScriptEdit(3, 1, "are", R.SVA_BE), "Ann and I are late"),
        ("The girls he loves is here", ScriptEdit(4, 1, "are", R.SVA_BE), "The girls he loves are here"),
        ("They often is late", ScriptEdit(2, 1, "are", R.SVA_BE), "They often are late"),
        ("He sing", ScriptEdit(1, 1, "sings", R.SVA_SG), "He sings"),
        (
            "His next works is two books in 1968",
            ScriptEdit(3, 1, "are", R.SVA_BE),
            "His next works are two books in 1968",
        ),
        ("I called you tomorrow", ScriptEdit(1, 1, "will call", R.TENSE_FUT), "I will call you tomorrow"),
        ("He live in a house built in 1950", ScriptEdit(1, 1, "lives", R.SVA_SG), "He lives in a house built in 1950"),
        ("He know that I came yesterday", ScriptEdit(1, 1, "knows", R.SVA_SG), "He knows that I came yesterday"),
        ("He love the music of last year", ScriptEdit(1, 1, "loves", R.SVA_SG), "He loves the music of last year"),
        ("He swum last week", ScriptEdit(1, 1, "swam", R.PAST_NOT_PART), "He swam last week"),
        ("He went there tomorrow", ScriptEdit(1, 1, "will go", R.TENSE_FUT), "He will go there tomorrow"),
        ("She wants drive a car", ScriptEdit(2, 1, "to drive", R.TO_INF), "She wants to drive a car"),
        ("What does causes this?", ScriptEdit(1, 2, "causes", R.DO_SUPPORT), "What causes this?"),
        ("He asked where did I live.", ScriptEdit(3, 2, "I", R.DO_SUPPORT), "He asked where I live."),
        (
            "I like cars, that is new, and boats",
            ScriptEdit(4, 1, "are", R.SVA_BE),
            "I like cars, that are new, and boats",
        ),
        ("All but Tom is here", ScriptEdit(3, 1, "are", R.SVA_BE), "All but Tom are here"),
        ("I came but Jones were late", ScriptEdit(4, 1, "was", R.SVA_BE), "I came but Jones was late"),
        ("He run more than she in 1980", ScriptEdit(1, 1, "runs", R.SVA_SG), "He runs more than she in 1980"),
        ("Who does lives here?", ScriptEdit(1, 2, "lives", R.DO_SUPPORT), "Who lives here?"),
        ("He like it. I left yesterday", ScriptEdit(1, 1, "likes", R.SVA_SG), "He likes it. I left yesterday"),
        ("He works here since", ScriptEdit(1, 1, "has worked", R.TENSE_PERF), "He has worked here since"),
    ],
)
def test_what_nothing_speaks_against_is_mended(sentence: str, edit: ScriptEdit, corrected: str) -> None:
    assert conclude(sentence, edit).corrected == corrected
