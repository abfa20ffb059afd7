"""The page's arithmetic of texts and places, run in the browser that ships it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page


def run(page: Page, body: str, *arguments: object) -> object:
    return page.evaluate(f"async (given) => {{ const t = await import('/static/text.js'); {body} }}", list(arguments))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\n ", []),
        ("One.", ["One."]),
        ("  One.\nstill one. \n \n\tTwo.\n", ["One.\nstill one.", "Two."]),
        ("a\n\n\n\nb", ["a", "b"]),
    ],
)
def test_paragraphs_end_at_blank_lines_and_know_their_places(page: Page, text: str, expected: list[str]) -> None:
    parts = run(page, "return t.paragraphs(given[0])", text)

    assert [part["text"] for part in parts] == expected
    assert [text[part["start"] : part["end"]] for part in parts] == expected


def test_sentences_are_cut_where_one_surely_ends(page: Page) -> None:
    text = "Dr. Who came. “Stop!” He left… Then No. 5 came\nat 5 p.m. today. Why? Because."

    pieces = run(page, "return t.sentences(given[0])", text)

    assert [piece["text"] for piece in pieces] == [
        "Dr. Who came.", "“Stop!”", "He left…", "Then No. 5 came", "at 5 p.m. today.", "Why?", "Because.",
    ]  # fmt: skip
    assert all(text[piece["start"] :].startswith(piece["text"]) for piece in pieces)


@pytest.mark.parametrize(
    "expected",
    [
        ["I like it.", "We sat on the mat.", "He is in.", "You saw me go.", "Ana ran."],
        ["We met etc. Ms. Ito at 9 a.m. J. Doe came.", "Yes."],
    ],
)
def test_short_words_end_sentences_and_abbreviations_do_not(page: Page, expected: list[str]) -> None:
    pieces = run(page, "return t.sentences(given[0])", " ".join(expected))

    assert [piece["text"] for piece in pieces] == expected


def test_every_mark_ends_a_sentence_where_nothing_else_helps(page: Page) -> None:
    pieces = run(page, "return t.sentences(given[0], true)", "It is plan B. We go with Dr. Who.")

    assert [piece["text"] for piece in pieces] == ["It is plan B.", "We go with Dr.", "Who."]


def test_units_follow_code_points_outside_the_basic_plane(page: Page) -> None:
    assert run(page, "return t.unitsOf(given[0])", "a😀b\u0301") == [0, 1, 3, 4, 5]


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("He goed and she go.", "Well. He goed and she go.", ["goed", "go"]),
        ("He goed and she go.", "He goed, and she go.", ["go"]),  # beside the change: asked for again
        ("He goed and she go.", "He goed and then she go.", ["goed", "go"]),
        ("He goed and she go.", "He and she go.", ["go"]),
        ("He goed and she go.", "", []),
    ],
)
def test_places_move_with_the_text_and_end_with_their_words(
    page: Page, before: str, after: str, kept: list[str]
) -> None:
    places = [{"start": 3, "end": 7}, {"start": 16, "end": 18}]

    found = run(page, "return t.moved(given[2], t.change(given[0], given[1]))", before, after, places)

    assert [after[place["start"] : place["end"]] for place in found] == kept
