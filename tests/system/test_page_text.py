"""The page's arithmetic of texts and places."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from api.pages.files import STATIC
from tests import system_tools

WITH_PLACES = ".map(({ start, end, text }) => [text, given[0].slice(start, end ?? start + text.length)])"
MOVED = "moved([{ start: 3, end: 7 }, { start: 16, end: 18 }], change('He goed and she go.', given[0]))"
WORDS = f"{MOVED}.map(({{ start, end }}) => given[0].slice(start, end))"


def run(expression: str, *given: Any) -> Any:
    """What it is, where `given` are these values."""
    code = (STATIC / "text.js").read_text(encoding="utf-8") + "\nconst given = JSON.parse(process.argv[1]);"
    code += f"console.log(JSON.stringify({expression}));"
    command = [system_tools.find("node"), "--input-type=module", "-e", code, "--", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


@pytest.mark.parametrize(
    ("expected", "is_every_mark"),
    [
        (["Dr. Who came.", "“Stop!”", "He left…", "Then No. 5 came", "at 5 p.m. today.", "Why?", "Because."], False),
        (["I like it.", "We sat on the mat.", "He is in.", "You saw me go.", "Ana ran."], False),
        (["We met etc. Ms. Ito at 9 a.m. J. Doe came.", "Yes."], False),
        (["It is plan B.", "We go with Dr.", "Who."], True),
    ],
)
def test_sentences_are_cut_where_one_surely_ends(expected: list[str], is_every_mark: bool) -> None:
    text = " ".join(expected).replace("came at", "came\nat")

    assert run(f"sentences(given[0], given[1]){WITH_PLACES}", text, is_every_mark) == [[one, one] for one in expected]


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        (f"paragraphs(given[0]){WITH_PLACES}", " \n\n ", []),
        (
            f"paragraphs(given[0]){WITH_PLACES}",
            "  One.\nstill one. \n \n\tTwo.\n",
            [["One.\nstill one."] * 2, ["Two."] * 2],
        ),
        (f"paragraphs(given[0]){WITH_PLACES}", "a\n\n\n\nb", [["a", "a"], ["b", "b"]]),
        (WORDS, "Well. He goed and she go.", ["goed", "go"]),
        (WORDS, "He goed, and she go.", ["go"]),  # beside the change: asked for again
        (WORDS, "He goed and then she go.", ["goed", "go"]),
        (WORDS, "He and she go.", ["go"]),
        (WORDS, "", []),
    ],
)
def test_places_are_those_of_their_words(expression: str, text: str, expected: list[Any]) -> None:
    assert run(expression, text) == expected
