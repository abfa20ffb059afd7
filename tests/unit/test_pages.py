"""Pages and their files: kept by browsers until they change, and with a policy that lets nothing in from elsewhere."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from api.pages.files import STATIC
from tests.fake_corrector import assert_problem

FILES = sorted(path.name for path in STATIC.iterdir() if path.suffix != ".html")


@pytest.mark.parametrize("path", ["/", *(f"/static/{name}" for name in FILES)])
def test_a_browser_that_has_the_file_is_not_sent_it_again(client: FlaskClient, path: str) -> None:
    first = client.get(path)
    tag = first.headers["ETag"]
    same, weak, changed = (
        client.get(path, headers={"If-None-Match": each}) for each in (tag, f"W/{tag}", '"0123456789abcdef"')
    )

    assert first.status_code == changed.status_code == 200 and first.data == changed.data
    assert (same.status_code, same.data) == (weak.status_code, weak.data) == (304, b"")
    assert same.headers["ETag"] == tag and "Content-Length" not in same.headers
    assert first.headers["Cache-Control"] == same.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", *(f"/static/{name}" for name in FILES)])
def test_a_page_takes_nothing_from_another_host_and_runs_nothing_inline(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers

    directives = dict(each.strip().split(" ", 1) for each in headers["Content-Security-Policy"].split(";"))
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"] and "http" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"


def test_head_of_a_page_has_its_length_and_no_body(client: FlaskClient) -> None:
    response = client.head("/")

    assert response.status_code == 200 and response.data == b""
    assert int(response.headers["Content-Length"]) == len(client.get("/").data)


@pytest.mark.parametrize("name", ["none.js", "index.html", "../files.py", "..%2ffiles.py", "%2e%2e/files.py"])
def test_no_other_file_can_be_had(client: FlaskClient, name: str) -> None:
    assert_problem(client.get(f"/static/{name}"), 404, "not-found")


def test_all_that_the_page_loads_is_less_than_100_kb() -> None:
    loaded, found = {"index.html"}, {"index.html"}
    while found:
        texts = [(STATIC / name).read_text(encoding="utf-8") for name in found]
        found = {name for text in texts for name in re.findall(r'"(?:/static|\.)/([\w.-]+)"', text)} - loaded
        loaded |= found

    assert {"page.js", "page.css", "tokens.css", "marks.js", "key.js"} <= loaded
    assert sum((STATIC / name).stat().st_size for name in loaded) < 100_000
