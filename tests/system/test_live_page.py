"""The live view at `/ops` in a real browser: the picture moves, and the keyboard suffices."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.mailbox_house import eventually
from tests.system.conftest import Open

_COLOURS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3]) found.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
  }
  return found.size;
}"""


@pytest.fixture
def live(open_page: Open, site: str) -> Page:
    return watched(open_page(f"{site}/ops"))


def watched(page: Page) -> Page:
    """Somebody watches: the worker says what it does."""
    expect(page.locator("#figures dd").first).to_be_visible()
    return page


def tab_to(page: Page, name: str) -> Locator:
    button = page.get_by_role("button", name=name)
    while not button.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    return button


def test_a_burst_becomes_a_picture_with_figures_for_all_who_watch(live: Page, open_page: Open, site: str) -> None:
    pages = [live, watched(open_page(f"{site}/ops"))]

    tab_to(live, "Send a burst").press("Enter")
    expect(live.locator("#said")).to_contain_text("were answered", timeout=30_000)

    for page in pages:
        expect(page.locator("#figures div").filter(has_text="Answers a second")).not_to_contain_text("0.0")
        canvas = page.locator(".worker canvas")
        expect(canvas).to_have_count(1)
        eventually(lambda canvas=canvas: canvas.evaluate(_COLOURS) > 10, 20, 0.1)
        expect(page.locator("#taken")).to_have_text(re.compile(r"[1-9]\d* of [1-9]\d* freed slots"))
        expect(page.locator("#law")).to_contain_text("L = λ · W")
        expect(page.locator(".worker h3")).to_have_text(re.compile(r": 0 of 256 slots busy$"))
    assert len({page.locator(".worker h3").inner_text().split(":")[0] for page in pages}) == 1


def test_a_refused_burst_says_why(live: Page) -> None:
    problem = {"status": 429, "detail": "This client has sent more than its share; try again in 2 s."}
    live.route("**/correct/batch", lambda route: route.fulfill(status=429, json=problem))

    live.get_by_role("button", name="Send a burst").click()

    expect(live.locator("#said")).to_have_text(f"The server refused 30 of 30 requests: {problem['detail']}")
    # Its colours change at once where it may be pressed again: in between, its words would be hard to read on it.
    assert live.locator("#burst").evaluate("button => getComputedStyle(button).transitionDuration") == "0s"


def test_motion_is_slowed_and_stopped_by_keyboard_and_stands_still_for_who_asks(open_page: Open, site: str) -> None:
    page = watched(open_page(f"{site}/ops", reduced_motion="reduce"))
    expect(page.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")

    for name in ("Slow motion", "Pause"):
        button = tab_to(page, name)
        before = button.get_attribute("aria-pressed")
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") != before
