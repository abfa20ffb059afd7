"""What the page knows of reasons and of languages is what the server knows."""

from __future__ import annotations

import re
from pathlib import Path

from api.grammar.language import NOT_ENGLISH, NOTHING_FOUND, PARTLY_ENGLISH
from api.grammar.reasons import Reason
from api.pages.files import STATIC


def test_every_reason_of_the_server_has_one_family_on_the_page() -> None:
    source = (STATIC / "reasons.js").read_text(encoding="utf-8")
    table = source[source.index("FAMILIES = {") : source.index("};")]

    slugs = re.findall(r'"(\w+)"', table)

    assert sorted(slugs) == sorted(reason.value for reason in Reason)


def test_every_family_has_a_colour_and_a_class() -> None:
    source = (STATIC / "reasons.js").read_text(encoding="utf-8")
    colours, classes = ((STATIC / name).read_text(encoding="utf-8") for name in ("tokens.css", "page.css"))

    for family in re.findall(r"^  (\w+): \[", source, re.MULTILINE):
        assert f"--{family}: light-dark(" in colours
        assert f".mark-{family} {{ --hue: var(--{family}); }}" in classes


def test_the_examples_for_learners_are_those_of_the_reference() -> None:
    source = (STATIC / "learner.js").read_text(encoding="utf-8")
    reference = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")

    examples = dict(re.findall(r'^  (\w+): "(.+ -> .+)",$', source, re.MULTILINE))

    assert examples == dict(re.findall(r"^\| `(\w+)` \| [A-Z_]+ \| (.+?) \|$", reference, re.MULTILINE))
    assert len(examples) == len(Reason)


def test_the_page_says_of_other_languages_what_the_server_says() -> None:
    source = (STATIC / "page.js").read_text(encoding="utf-8")

    assert all(f'"{said}"' in source for said in (NOTHING_FOUND, NOT_ENGLISH, PARTLY_ENGLISH))
