"""Draws the pictures of the documents from the real thing: `make pictures`, or `python -m tests.pictures [NAME ...]`.

The page at `/` as a moving picture and as stills, wide and narrow, light and dark; rq-dashboard under load. The fonts
are those of the machine: on Debian, fonts-inter and fonts-urw-base35 come nearest to what most readers have.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium, open_dashboard
from tests.loaded_dashboard import PAGES, dashboard_under_load
from tests.running_system import RunningSystem

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (
    "Last summer we was in Italy. My brother swimmed every day, and my sister have learned some Italian. "
    "She enjoyed to talk to everybody. We didn’t wanted to go home."
)
TYPED = "Yesterday I go to the market and buyed some apples. My sister don’t likes them."
_WIDE, _NARROW = {"width": 1200, "height": 760}, {"width": 390, "height": 844}
_FILM = {"width": 960, "height": 620}
_LETTERS_A_FRAME = 3
Frame = tuple[Image.Image, int]  # how long it is shown, in ms


def page_stills(browser: Browser, url: str) -> None:
    for name, size, scheme in (("wide", _WIDE, "light"), ("narrow", _NARROW, "dark")):
        context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=1.5)
        page = context.new_page()
        page.goto(url)
        page.get_by_role("textbox", name="Your text").fill(TEXT)
        expect(page.locator(".mark")).to_have_count(5)
        page.locator(".mark").nth(3 if name == "wide" else 1).click()
        expect(page.get_by_role("group", name="Why")).to_be_visible()
        page.mouse.move(0, 0)
        _save_still(page, DOCS / "page" / f"{name}-{scheme}.png")
        context.close()


def page_film(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport=_FILM, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    page.goto(url)
    frames = list(_film(page))
    context.close()
    path = DOCS / "page" / "page.webp"
    images, durations = [image for image, _ in frames], [ms for _, ms in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, quality=80, method=6)


def _film(page: Page) -> Iterator[Frame]:
    """Somebody writes, looks at a correction, accepts it by keyboard, and then all others."""
    text, marks = page.get_by_role("textbox", name="Your text"), page.locator(".mark")
    yield _frame(page), 700
    text.click()
    for start in range(0, len(TYPED), _LETTERS_A_FRAME):
        page.keyboard.type(TYPED[start : start + _LETTERS_A_FRAME])
        yield _frame(page), 110
    expect(marks).to_have_count(4)
    yield _frame(page), 1200
    for index, why in enumerate(("'yesterday' asks for", "tense of 'buy'")):
        marks.nth(index).hover()
        expect(page.get_by_role("group", name="Why")).to_contain_text(why)
        yield _frame(page), 1900
    page.get_by_role("button", name="Accept", exact=True).click()
    page.mouse.move(0, 0)
    expect(marks).to_have_count(3)
    yield _frame(page), 1100
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#notice")).to_contain_text("No verb mistakes found")
    yield _frame(page), 2200


def _frame(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot(caret="initial"))).convert("RGB")


def _save_still(page: Page, path: Path) -> None:
    """Few colours are enough, and a third of the bytes."""
    path.parent.mkdir(exist_ok=True)
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def dashboard_stills(browser: Browser) -> None:
    with dashboard_under_load() as (url, _):
        page = browser.new_page(viewport=_WIDE)
        for name, path in PAGES.items():
            open_dashboard(page, url + path)
            _save_still(page, DOCS / "dashboard" / f"{name}.png")


def main(names: list[str]) -> None:
    with chromium() as browser:
        if not names or "page" in names:
            with RunningSystem() as system:
                page_stills(browser, system.url)
                page_film(browser, system.url)
        if not names or "dashboard" in names:
            dashboard_stills(browser)


if __name__ == "__main__":
    main(sys.argv[1:])
