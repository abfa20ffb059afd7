"""Where a text is cut into sentences: what ends one, what only looks like it, and that nothing is ever lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.sentences import find_sentences
from tests.tables import table

GRIN = "\U0001f600"


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


LINES = [
    ("He goed home.\nShe came.", ["He goed home.", "She came."]),
    ("He goed home\nShe have a dog\r\nThey was here", ["He goed home", "She have a dog", "They was here"]),
    ("He goed home.\r\n\r\nshe stayed", ["He goed home.", "she stayed"]),
    ("My day\n\nI goed home.", ["My day", "I goed home."]),
    ("My day\n \t\n i goed home.", ["My day", "i goed home."]),
    ("We met the\nSmiths and\nTom", ["We met the\nSmiths and\nTom"]),
    ("This is a long line that\nwas wrapped by hand.", ["This is a long line that\nwas wrapped by hand."]),
    ("Two lines that some program has wrapped in the middle, with\nTom in front. He left.",
     ["Two lines that some program has wrapped in the middle, with\nTom in front.", "He left."]),
    ("Dear Tom,\n\nI goed home.\n\nYours,\nAnn", ["Dear Tom,", "I goed home.", "Yours,\nAnn"]),
    ("- apples\n- pears\n* plums\n\u2022 nuts", ["- apples", "- pears", "* plums", "\u2022 nuts"]),
    ("1. Buy milk.\n2. Buy eggs\n3) sleep\na) eat", ["1. Buy milk.", "2. Buy eggs", "3) sleep", "a) eat"]),
    ("1. He goed. 2. She goed.", ["1. He goed.", "2. She goed."]),
    ("We met Mr.\nSmith at 5 p.m.\nin town", ["We met Mr.\nSmith at 5 p.m.\nin town"]),
    ("\n\n He goed.\n\n\nShe came \n\n", ["He goed.", "She came"]),
    (f"{GRIN}\n\nHe goed home.", [f"{GRIN}\n\nHe goed home."]),
    (f"He goed home\n\n...\n\nShe came {GRIN}", ["He goed home\n\n...", f"She came {GRIN}"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "row", [*(row for (row,) in table("sentences_end")), "He goed.  |  She stayed.\t|\tAnd I?\u00a0|\u00a0Yes."]
)
def test_a_sentence_ends_at_its_mark(row: str) -> None:
    parts = row.split("|")

    assert cut("".join(parts).replace("  ", " ")) == [part.strip() for part in parts]


@pytest.mark.parametrize(("text",), table("sentences_go_on"))
def test_not_every_mark_ends_a_sentence(text: str) -> None:
    assert cut(text) == [text.strip()]


@pytest.mark.parametrize(("text", "sentences"), LINES)
def test_blank_lines_lists_and_short_lines_end_sentences_and_wrapped_lines_do_not(
    text: str, sentences: list[str]
) -> None:
    assert cut(text) == sentences


_PIECES = st.sampled_from(
    ["He goed", "she", "I", "Mr", "etc", "p.m", "U.S", "5", "3.5", ".", "!", "?", "...", "\u2026", " ", "  ", "\n",
     "\r\n", "\n\n", '"', "'", "\u201c", "\u201d", "(", ")", "[", "]", ",", ":)", GRIN, "- ", "1. ", "a) ",
     "\u00a0", "@", "/"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_the_pieces_and_the_white_space_between_them_are_the_text(text: str) -> None:
    places = list(find_sentences(text))

    rebuilt, done = "", 0
    for start, end in places:
        assert text[done:start].isspace() or done == start
        assert text[start:end] and text[start:end] == text[start:end].strip()
        rebuilt += text[done:start] + text[start:end]
        done = end
    assert rebuilt + text[done:] == text
    assert text[done:].isspace() or done == len(text)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_every_piece_of_several_has_a_letter_or_digit(text: str) -> None:
    pieces = cut(text)

    assert len(pieces) < 2 or all(any(map(str.isalnum, piece)) for piece in pieces)
