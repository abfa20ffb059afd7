"""The page at `/docs` in a real browser: axe-core finds no fault, requests are sent and answered, by keyboard too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from api.access.keys import new_key
from tests.browser import PolicyWatch
from tests.running_system import RunningSystem

SIZES = {"wide": (1280, 800), "narrow": (375, 720)}


@pytest.fixture
def docs(browser: Browser, site: str) -> Iterator[Page]:
    page = browser.new_page()
    watch = PolicyWatch(page, site)
    page.goto(f"{site}/docs")
    yield page
    page.close()
    assert watch.faults == []


def form(page: Page, name: str) -> Locator:
    return page.get_by_role("form", name=f"Try {name}", exact=True)


def send(page: Page, name: str, is_json: bool = True) -> tuple[int, dict]:
    form(page, name).get_by_role("button", name="Send").click()
    output = form(page, name).get_by_role("status")
    expect(output).to_contain_text("Content-Type")
    head, _, body = output.inner_text().partition("\n\n")
    return int(head.split("\n")[0]), json.loads(body) if is_json else {}


def axe_page(browser: Browser, url: str, **about: Any) -> Page:
    """The page without its policy, which would stop axe-core."""
    page = browser.new_context(bypass_csp=True, **about).new_page()
    page.goto(f"{url}/docs")
    return page


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_in_the_page_and_in_an_answer(browser: Browser, site: str, scheme: str, size: str) -> None:
    width, height = SIZES[size]
    page = axe_page(browser, site, color_scheme=scheme, viewport={"width": width, "height": height})
    send(page, "POST /correct")

    found = Axe().run(page)
    is_too_wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")

    page.context.close()
    assert found.violations_count == 0, found.generate_report()
    assert not is_too_wide


def test_a_request_of_the_page_is_answered_and_can_be_asked_about(docs: Page) -> None:
    status, answer = send(docs, "POST /correct")
    form(docs, "GET /requests/{request_id}").get_by_role("textbox").fill(answer["request_id"])
    again = send(docs, "GET /requests/{request_id}")

    assert (status, answer["corrected"]) == (200, "He went to school")
    assert again[0] == 404  # it was sent without an Idempotency-Key


def test_a_form_for_editors_is_sent_as_a_form(docs: Page) -> None:
    area = form(docs, "POST /v2/check").get_by_role("textbox")
    area.fill('{"text": "They was late & \\u201chere\\u201d.", "language": "en-GB"}')

    status, answer = send(docs, "POST /v2/check")

    assert status == 200
    assert [match["rule"]["id"] for match in answer["matches"]] == ["be_agreement"]


def test_the_keyboard_alone_sends_a_request_and_a_wrong_one_shows_its_problem(docs: Page) -> None:
    area = form(docs, "POST /correct").get_by_role("textbox")
    area.focus()
    docs.keyboard.press("Control+A")
    docs.keyboard.type('{"sentence": ""}')
    docs.keyboard.press("Tab")
    docs.keyboard.press("Enter")

    expect(form(docs, "POST /correct").get_by_role("status")).to_contain_text("urn:miniserve:problem:invalid-request")


def test_a_key_is_sent_with_each_request_and_kept_nowhere(browser: Browser, tmp_path: Path) -> None:
    (key, line), (unknown, _) = new_key("ana"), new_key("eve")
    (tmp_path / "keys").write_text(f"{line}\n")
    with RunningSystem("--api-keys-file", str(tmp_path / "keys")) as server:
        page = browser.new_context().new_page()
        watch = PolicyWatch(page, server.url)
        page.goto(f"{server.url}/docs")
        field = page.get_by_role("region", name="Authorize").get_by_label("API key")
        statuses = []
        for value in ("", unknown, key, f" {key} "):
            field.fill(value)
            statuses.append(send(page, "POST /correct")[0])
        asked = send(page, "GET /metrics", is_json=False)[0]
        kept = page.evaluate("[document.cookie, localStorage.length, sessionStorage.length, location.href]")
        page.reload()
        left = field.input_value()
        page.context.close()
        found = Axe().run(checked := axe_page(browser, server.url))
        checked.context.close()

    assert found.violations_count == 0, found.generate_report()
    assert statuses == [401, 401, 200, 200] and asked == 200
    assert (kept, left) == (["", 0, 0, f"{server.url}/docs"], "")
    assert watch.faults == []


def test_every_operation_is_a_link_away(docs: Page) -> None:
    links = docs.get_by_role("navigation", name="Operations").get_by_role("link")

    for number in range(links.count()):
        assert docs.locator(links.nth(number).get_attribute("href")).count() == 1
    links.last.click()
    expect(docs.locator(links.last.get_attribute("href"))).to_be_in_viewport()
