"""The page's arithmetic of texts and places."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from api.pages.files import STATIC
from tests import system_tools

WITH_PLACES = ".map(({ start, end, text }) => [text, given[0].slice(start, end ?? start + text.length)])"


def run(expression: str, *given: Any) -> Any:
    """What it is, where `given` are these values."""
    code = (STATIC / "text.js").read_text(encoding="utf-8") + "\nconst given = JSON.parse(process.argv[1]);"
    code += f"console.log(JSON.stringify({expression}));"
    command = [system_tools.find("node"), "--input-type=module", "-e", code, "--", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Who came.", "“Stop!”", "He left…", "Then No. 5 came", "at 5 p.m. today.", "Why?", "Because."],
        ["I like it.", "We sat on the mat.", "He is in.", "You saw me go.", "Ana ran."],
        ["We met etc. Ms. Ito at 9 a.m. J. Doe came.", "Yes."],
    ],
)
def test_sentences_are_cut_where_one_surely_ends(expected: list[str]) -> None:
    text = " ".join(expected).replace("came at", "came\nat")

    assert run(f"sentences(given[0]){WITH_PLACES}", text) == [[one, one] for one in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \n\n ", []),
        ("  One.\nstill one. \n \n\tTwo.\n", ["One.\nstill one.", "Two."]),
        ("a\n\n\n\nb", ["a", "b"]),
        ("One.\n“Two!”\n- Three…\n 4 (four?) \nFive", ["One.", "“Two!”", "- Three…", "4 (four?)", "Five"]),
        ("We met Dr.\nIto in Oct.\n5 of us,\nShe said.\n", ["We met Dr.\nIto in Oct.\n5 of us,\nShe said."]),
        ("Well...\nthat was\nit. Now\n", ["Well...\nthat was\nit. Now"]),
    ],
)
def test_paragraphs_are_cut_at_blank_lines_and_behind_lines_that_end_a_sentence(text: str, expected: list[str]) -> None:
    assert run(f"paragraphs(given[0]){WITH_PLACES}", text) == [[one, one] for one in expected]
