"""The page's table of reasons is that of the server."""

from __future__ import annotations

import re

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
