"""The pages for everybody: axe-core finds no fault in any of their states, wide and light, narrow and dark."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from api.grammar.reasons import Reason
from tests.browser import access_faults, cards, marks, write
from tests.system.conftest import Open

ENGLISH = {"code": "en", "confidence": 0.9}
WANTED = {"type": "urn:miniserve:problem:unauthorized", "status": 401, "detail": "A key is needed."}


def empty(page: Page) -> None:
    expect(page.get_by_role("textbox")).to_have_attribute("aria-placeholder", re.compile("Type or paste"))


def corrected(page: Page) -> None:
    write(page, "He goed home. She go home. They was late. They is write it. I seen him.")
    marks(page).first.click()
    expect(page.get_by_role("group", name="Why")).to_be_visible()


def unread(page: Page) -> None:
    write(page, "We saw " + "many " * 70 + "birds.\n\nDas ist nicht gut, und ich weiß nicht, warum.")
    expect(page.locator("#notice")).to_be_visible()
    marks(page).last.click()


def nothing_found(page: Page) -> None:
    write(page, "We are here.")
    expect(page.locator("#notice")).to_contain_text("No verb mistakes found")


def asks_for_a_key(page: Page) -> None:
    page.route("**/correct/batch", lambda route: route.fulfill(status=401, json=WANTED))
    write(page, "He goed home.")
    expect(page.get_by_role("dialog")).to_be_visible()


def counted(page: Page) -> None:
    page.get_by_role("switch", name="Count what I miss").check()
    write(page, "He goed home. I goed, too.")
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#learner-list li").first).to_be_visible()


def every_reason(page: Page) -> None:
    places = [(reason.value, 20 * number) for number, reason in enumerate(Reason)]
    edits = [
        {"start": at, "end": at + 4, "original": "word", "replacement": name, "reason": name, "explanation": name}
        | {"confidence": 0.9, "title": name}
        for name, at in places
    ]
    result = {"edits": edits, "explanation": "", "corrected": "", "notes": [], "language": ENGLISH}
    page.route("**/correct/batch", lambda route: route.fulfill(json={"results": [result]}))
    write(page, "".join(f"{'word':20}" for _ in places))
    expect(cards(page)).to_have_count(len(places))


def live(page: Page) -> None:
    expect(page.get_by_role("button", name="Send a burst")).to_be_enabled()


def live_after_a_burst(page: Page) -> None:
    page.get_by_role("button", name="Send a burst").click()
    expect(page.locator("#said")).to_contain_text("were answered", timeout=30_000)
    expect(page.locator("#replay")).to_be_visible()


def docs_with_an_answer(page: Page) -> None:
    form = page.get_by_role("form", name="Try POST /correct", exact=True)
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("status")).to_contain_text("Content-Type")


STATES = {
    empty: "/", corrected: "/", unread: "/", nothing_found: "/", asks_for_a_key: "/", counted: "/", every_reason: "/",
    live: "/ops", live_after_a_burst: "/ops", docs_with_an_answer: "/docs",
}  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_axe_finds_no_fault_in_a_state_of_a_page(open_page: Open, site: str, state: Callable[[Page], None]) -> None:
    page = open_page(site + STATES[state], reduced_motion="reduce", bypass_csp=True)
    state(page)

    assert access_faults(page) == []
