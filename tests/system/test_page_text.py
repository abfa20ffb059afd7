"""The page's arithmetic of texts and places."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from api.pages.files import STATIC
from tests import system_tools


def run(expression: str, *given: Any) -> Any:
    """What it is, where `given` are these values."""
    code = (STATIC / "text.js").read_text(encoding="utf-8") + "\nconst given = JSON.parse(process.argv[1]);"
    code += f"console.log(JSON.stringify({expression}));"
    command = [system_tools.find("node"), "--input-type=module", "-e", code, "--", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \n\n ", []),
        ("  One.\nstill one. \n \n\tTwo.\n", ["One.\nstill one.", "Two."]),
        ("a\n\n\n\nb", ["a", "b"]),
    ],
)
def test_paragraphs_end_at_blank_lines_and_know_their_places(text: str, expected: list[str]) -> None:
    parts = run("paragraphs(given[0])", text)

    assert [part["text"] for part in parts] == expected
    assert [text[part["start"] : part["end"]] for part in parts] == expected


@pytest.mark.parametrize(
    ("is_every_mark", "expected"),
    [
        (False, ["Dr. Who came.", "“Stop!”", "He left…", "Then No. 5 came", "at 5 p.m. today.", "Why?", "Because."]),
        (False, ["I like it.", "We sat on the mat.", "He is in.", "You saw me go.", "Ana ran."]),
        (False, ["We met etc. Ms. Ito at 9 a.m. J. Doe came.", "Yes."]),
        (True, ["It is plan B.", "We go with Dr.", "Who."]),
    ],
)
def test_sentences_are_cut_where_one_surely_ends(is_every_mark: bool, expected: list[str]) -> None:
    text = " ".join(expected).replace("came at", "came\nat")

    pieces = run("sentences(given[0], given[1])", text, is_every_mark)

    assert [piece["text"] for piece in pieces] == expected
    assert all(text[piece["start"] :].startswith(piece["text"]) for piece in pieces)


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("Well. He goed and she go.", ["goed", "go"]),
        ("He goed, and she go.", ["go"]),  # beside the change: asked for again
        ("He goed and then she go.", ["goed", "go"]),
        ("He and she go.", ["go"]),
        ("", []),
    ],
)
def test_places_move_with_the_text_and_end_with_their_words(after: str, kept: list[str]) -> None:
    places = [{"start": 3, "end": 7}, {"start": 16, "end": 18}]

    found = run("moved(given[2], change(given[0], given[1]))", "He goed and she go.", after, places)

    assert [after[place["start"] : place["end"]] for place in found] == kept
