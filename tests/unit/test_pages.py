"""Pages and their files: kept by browsers until they change, and with a policy that lets nothing in from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.grammar.reasons import Reason
from api.pages.files import STATIC

ROOT = Path(__file__).resolve().parents[2]


FILES = sorted(path.name for path in STATIC.iterdir() if path.suffix != ".html")
PAGES = ["/", "/ops", "/docs", "/openapi.json", *(f"/static/{name}" for name in FILES)]


def static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_sent_once_and_takes_nothing_from_another_host(client: FlaskClient, path: str) -> None:
    first, head = client.get(path), client.head(path)
    tag = first.headers["ETag"]
    same, weak, changed = (
        client.get(path, headers={"If-None-Match": each}) for each in (tag, f"W/{tag}", '"0123456789abcdef"')
    )

    assert first.status_code == changed.status_code == head.status_code == 200 and first.data == changed.data
    assert (same.status_code, same.data) == (weak.status_code, weak.data) == (304, b"")
    assert same.headers["ETag"] == tag and "Content-Length" not in same.headers
    assert first.headers["Cache-Control"] == same.headers["Cache-Control"] == "no-cache"
    assert (head.data, int(head.headers["Content-Length"])) == (b"", len(first.data))
    directives = dict(each.strip().split(" ", 1) for each in first.headers["Content-Security-Policy"].split(";"))
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    assert directives["script-src"] == "'self'" and not re.search("unsafe|http", str(directives))
    assert first.headers["Referrer-Policy"] == "same-origin"
    if first.mimetype == "text/html":
        assert not re.search(r"<script(?! [^>]*src)|<style|style=|\son\w+=|https?://", first.text)


def test_all_that_the_page_loads_is_less_than_350_kb() -> None:
    loaded, found = {"index.html"}, {"index.html"}
    while found:
        names = {name for each in found for name in re.findall(r'"(?:/static|\.)/([\w.-]+)"', static(each))}
        found = names - loaded
        loaded |= found

    assert {"page.js", "page.css", "tokens.css", "codemirror.js", "key.js"} <= loaded
    assert sum((STATIC / name).stat().st_size for name in loaded) < 350_000


def test_every_reason_of_the_server_has_one_family_on_the_page_with_a_colour_and_a_class() -> None:
    source, colours, classes = static("reasons.js"), static("tokens.css"), static("page.css")
    table = source[source.index("FAMILIES = {") : source.index("};")]

    assert sorted(re.findall(r'"(\w+)"', table)) == sorted(reason.value for reason in Reason)
    for family in re.findall(r"^  (\w+): \[", source, re.MULTILINE):
        assert f"--{family}: light-dark(" in colours
        assert f".hue-{family} {{ --hue: var(--{family}); }}" in classes


def test_the_examples_for_learners_are_those_of_the_reference() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")

    examples = dict(re.findall(r'^  (\w+): "(.+ -> .+)",$', static("learner.js"), re.MULTILINE))

    assert examples == dict(re.findall(r"^\| `(\w+)` \| [A-Z_]+ \| (.+?) \|$", reference, re.MULTILINE))
    assert len(examples) == len(Reason)
