"""The live view at `/ops` in a real browser: the picture moves, the keyboard suffices, axe-core finds no fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from api.access.keys import new_key
from tests.browser import PolicyWatch
from tests.mailbox_house import eventually
from tests.running_system import RunningSystem

SIZES = {"wide": (1280, 800), "narrow": (375, 720)}
_COLOURS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3]) found.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
  }
  return found.size;
}"""


@pytest.fixture
def live(browser: Browser, site: str) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    watch = PolicyWatch(page, site)
    page.goto(f"{site}/ops")
    expect(page.locator("#figures dd").first).to_be_visible()  # somebody watches: the worker says what it does
    yield page
    context.close()
    assert watch.faults == []


def burst(page: Page) -> None:
    page.get_by_role("button", name="Send a burst").click()
    expect(page.locator("#said")).to_contain_text("were answered", timeout=30_000)


def is_drawn(page: Page) -> None:
    expect(page.locator(".worker canvas")).to_have_count(1, timeout=20_000)
    canvas = page.locator(".worker canvas")
    eventually(lambda: canvas.evaluate(_COLOURS) > 10, 20, 0.1)


def test_a_burst_becomes_a_picture_with_figures_and_freed_slots_that_are_taken(live: Page) -> None:
    burst(live)

    is_drawn(live)
    expect(live.locator("#taken")).to_have_text(re.compile(r"[1-9]\d* of [1-9]\d* freed slots"), timeout=20_000)
    expect(live.locator("#law")).to_contain_text("L = λ · W")
    expect(live.locator("#figures div").filter(has_text="Answers a second")).not_to_contain_text("0.0")


def test_after_a_burst_no_slot_is_busy(live: Page) -> None:
    burst(live)

    expect(live.locator(".worker h3")).to_have_text(re.compile(r": 0 of 256 slots busy$"), timeout=20_000)


def test_a_refused_burst_says_why(live: Page) -> None:
    problem = {"status": 429, "detail": "This client has sent more than its share; try again in 2 s."}
    live.route("**/correct/batch", lambda route: route.fulfill(status=429, json=problem))

    live.get_by_role("button", name="Send a burst").click()

    expect(live.locator("#said")).to_have_text(f"The server refused 30 of 30 requests: {problem['detail']}")


def test_a_button_that_may_be_pressed_again_has_its_colours_at_once(live: Page) -> None:
    colours = """button => [true, false].map(disabled => {
      button.disabled = disabled;
      return getComputedStyle(button).backgroundColor;
    })"""

    resting, pressable = live.locator("#burst").evaluate(colours)

    assert resting != pressable  # in between, its words would be hard to read on it
    assert live.locator("#burst").evaluate("button => button.getAnimations().length") == 0


def test_two_viewers_see_the_same_workers(live: Page, browser: Browser, site: str) -> None:
    other = browser.new_context().new_page()
    other.goto(f"{site}/ops")
    expect(other.locator("#figures dd").first).to_be_visible()

    burst(live)

    for page in (live, other):
        is_drawn(page)
    assert (
        live.locator(".worker h3").inner_text().split(":")[0] == other.locator(".worker h3").inner_text().split(":")[0]
    )
    other.context.close()


def test_all_of_it_can_be_done_by_keyboard(live: Page) -> None:
    for name in ("Send a burst", "Slow motion", "Pause"):
        button = live.get_by_role("button", name=name)
        while not button.evaluate("one => one === document.activeElement"):
            live.keyboard.press("Tab")
        if name != "Send a burst":
            before = button.get_attribute("aria-pressed")
            live.keyboard.press("Enter")
            assert button.get_attribute("aria-pressed") != before
        else:
            live.keyboard.press("Enter")
            expect(live.locator("#said")).to_contain_text("were answered", timeout=30_000)


def test_who_asks_for_less_motion_gets_a_picture_that_stands_still(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site}/ops")

    expect(page.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")
    context.close()


def test_where_keys_are_asked_for_the_page_asks_and_goes_on(browser: Browser, tmp_path: Path) -> None:
    (key, line), file = new_key("ana"), tmp_path / "keys"
    file.write_text(f"{line}\n")
    with RunningSystem("--api-keys-file", str(file)) as server:
        page = browser.new_context().new_page()
        page.goto(f"{server.url}/ops")
        field = page.get_by_label("Key", exact=True)
        expect(field).to_be_focused()
        field.fill(key)
        field.press("Enter")

        expect(page.locator("#figures dd").first).to_be_visible(timeout=10_000)
        burst(page)
        page.context.close()


def untouched(page: Page) -> None:
    expect(page.locator("#figures dd").first).to_be_visible()


def watched(page: Page) -> None:
    burst(page)
    expect(page.locator(".worker canvas")).to_have_count(1, timeout=20_000)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", [untouched, watched], ids=lambda state: state.__name__)
def test_axe_finds_no_fault_in_the_live_view(
    browser: Browser, site: str, state: Callable[[Page], None], scheme: str, size: str
) -> None:
    width, height = SIZES[size]
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height}, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{site}/ops")
    state(page)

    found = Axe().run(page)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert found.violations_count == 0, found.generate_report()
