"""The page at `/docs` in a real browser: requests are sent and answered, by keyboard too."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from api.access.keys import new_key
from tests.system.conftest import KeyedSite, Open


@pytest.fixture
def docs(open_page: Open, site: str) -> Page:
    return open_page(f"{site}/docs")


def form(page: Page, name: str) -> Locator:
    return page.get_by_role("form", name=f"Try {name}", exact=True)


def send(page: Page, name: str) -> tuple[int, dict]:
    form(page, name).get_by_role("button", name="Send").click()
    output = form(page, name).get_by_role("status")
    expect(output).to_contain_text("Content-Type")
    head, _, body = output.inner_text().partition("\n\n")
    return int(head.split("\n")[0]), json.loads(body) if "json" in head else {}


def test_requests_of_the_page_are_answered_as_json_and_as_a_form(docs: Page) -> None:
    status, answer = send(docs, "POST /correct")
    form(docs, "GET /requests/{request_id}").get_by_role("textbox").fill(answer["request_id"])
    again = send(docs, "GET /requests/{request_id}")
    area = form(docs, "POST /v2/check").get_by_role("textbox")
    area.fill('{"text": "They was late & \\u201chere\\u201d.", "language": "en-GB"}')
    checked, found = send(docs, "POST /v2/check")

    assert (status, answer["corrected"]) == (200, "He went to school")
    assert again[0] == 404  # it was sent without an Idempotency-Key
    assert (checked, [match["rule"]["id"] for match in found["matches"]]) == (200, ["be_agreement"])


def test_the_keyboard_alone_sends_a_request_and_a_wrong_one_shows_its_problem(docs: Page) -> None:
    area = form(docs, "POST /correct").get_by_role("textbox")
    area.focus()
    docs.keyboard.press("Control+A")
    docs.keyboard.type('{"sentence": ""}')
    docs.keyboard.press("Tab")
    docs.keyboard.press("Enter")

    expect(form(docs, "POST /correct").get_by_role("status")).to_contain_text("urn:miniserve:problem:invalid-request")


def test_a_key_is_sent_with_each_request_and_kept_nowhere(open_page: Open, keyed_site: KeyedSite) -> None:
    page = open_page(f"{keyed_site.url}/docs")
    field = page.get_by_role("region", name="Authorize").get_by_label("API key")
    statuses = []
    for value in ("", new_key("eve")[0], keyed_site.key, f" {keyed_site.key} "):
        field.fill(value)
        statuses.append(send(page, "POST /correct")[0])
    asked = send(page, "GET /metrics")[0]
    kept = page.evaluate("[document.cookie, localStorage.length, sessionStorage.length, location.href]")
    page.reload()

    assert (field.input_value(), kept) == ("", ["", 0, 0, f"{keyed_site.url}/docs"])
    assert statuses == [401, 401, 200, 200] and asked == 200
