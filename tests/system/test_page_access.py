"""The page at `/` for everybody: axe-core finds no fault in any of its states, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

MANY = "He goed home. She go home. They was late. They is write it. I seen him."
SIZES = {"wide": (1280, 800), "narrow": (375, 720)}
WANTED = {"type": "urn:miniserve:problem:unauthorized", "status": 401, "detail": "A key is needed."}


def empty(page: Page) -> None:
    expect(page.locator("#empty")).to_be_visible()


def corrected(page: Page) -> None:
    page.get_by_role("textbox", name="Your text").fill(MANY)
    page.locator(".mark").first.click()
    expect(page.get_by_role("group", name="Why")).to_be_visible()


def too_long(page: Page) -> None:
    page.get_by_role("textbox", name="Your text").fill("We saw " + "many " * 70 + "birds.")
    expect(page.locator("#notice")).to_be_visible()


def nothing_found(page: Page) -> None:
    page.get_by_role("textbox", name="Your text").fill("We are here.")
    expect(page.locator("#notice")).to_contain_text("No verb mistakes found")


def asks_for_a_key(page: Page) -> None:
    page.route("**/correct/batch", lambda route: route.fulfill(status=401, json=WANTED))
    page.get_by_role("textbox", name="Your text").fill("He goed home.")
    expect(page.get_by_role("dialog")).to_be_visible()


def counted(page: Page) -> None:
    page.get_by_role("switch", name="Count what I miss").check()
    corrected(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#learner-list li").first).to_be_visible()


STATES = (empty, corrected, too_long, nothing_found, asks_for_a_key, counted)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_axe_finds_no_fault_in_a_state_of_the_page(
    browser: Browser, site: str, state: Callable[[Page], None], scheme: str, size: str
) -> None:
    width, height = SIZES[size]
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": height}, reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    page.goto(site)
    state(page)

    found = Axe().run(page)

    context.close()
    assert found.violations_count == 0, found.generate_report()


def test_every_reason_has_a_colour_of_its_family_with_contrast_on_both_papers(page: Page) -> None:
    """axe sees only the reasons that it is shown."""
    ratios = page.evaluate(
        """() => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const light = (color) => {
          canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const probe = document.body.appendChild(document.createElement("div"));
        const of = (value, scheme) => {
          probe.style.colorScheme = scheme; probe.style.color = value; return getComputedStyle(probe).color;
        };
        const names = ["agreement", "form", "tense", "infinitive", "ing", "spelling", "be", "order", "soft"];
        return names.flatMap((name) => ["light", "dark"].map((scheme) => {
          const paper = of(`color-mix(in oklab, var(--${name}) 19%, var(--sheet))`, scheme);
          const [a, b] = [light(of(`var(--${name})`, scheme)), light(paper)].sort((x, y) => y - x);
          return [name, scheme, (a + 0.05) / (b + 0.05)];
        }));
      }"""
    )

    assert len(ratios) == 18
    assert [each for each in ratios if each[2] < 4.5] == []
