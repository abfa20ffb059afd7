"""Draws the pictures of the documents from the real thing: `make pictures`, or `python -m tests.pictures [NAME ...]`.

The page at `/` as a moving picture and as stills, wide and narrow, light and dark; a burst at `/ops`; `top`. The fonts
are those of the machine: on Debian, fonts-inter and fonts-urw-base35 come nearest to what most readers have.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect
from rich.console import Console

from ops.observe.picture import Frame, picture
from ops.observe.top import Watch
from scheduler.settings import Settings
from tests.browser import cards, chromium, marks, text_box, write
from tests.running_system import RunningSystem

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (
    "Last summer we was in Italy. My brother swimmed every day, and my sister have learned some Italian. "
    "She enjoyed to talk to everybody. We didn’t wanted to go home.\n\n"
    "Das Wetter war sehr gut, aber das Essen war nicht besser.\n\n"
    "They still singing when we left, and if it will be warm next year, we go again."
)
NUM_PLACES = 8  # a correction or a note each
TYPED = "Yesterday I go to the market and buyed some apples. My sister don’t likes them."
_WIDE, _NARROW = {"width": 1280, "height": 760}, {"width": 390, "height": 844}
_FILM = {"width": 960, "height": 620}
_LETTERS_A_FRAME = 3
Shot = tuple[Image.Image, int]  # how long it is shown, in ms


def page_stills(browser: Browser, url: str) -> None:
    for name, size, scheme in (("wide", _WIDE, "light"), ("narrow", _NARROW, "dark")):
        page = open_page(browser, url, viewport=size, color_scheme=scheme, device_scale_factor=1.5)
        write(page, TEXT)
        expect(cards(page)).to_have_count(NUM_PLACES)
        marks(page).nth(3).click()
        expect(page.get_by_role("group", name="Why")).to_be_visible()
        page.mouse.move(0, 0)
        _save_still(page, DOCS / "page" / f"{name}-{scheme}.png")


def open_page(browser: Browser, url: str, **about: Any) -> Page:
    page = browser.new_page(**about)
    page.goto(url)
    return page


def page_film(browser: Browser, url: str) -> None:
    page = open_page(browser, url, viewport=_FILM, color_scheme="light", reduced_motion="reduce")
    _save_film(_writing(page), DOCS / "page" / "page.webp")


def live_film(browser: Browser, url: str) -> None:
    page = open_page(browser, f"{url}/ops", viewport={"width": 960, "height": 800}, color_scheme="light")
    page.get_by_role("button", name="Send a burst").click()
    _save_film(_watching(page), DOCS / "live" / "live.webp")


def _watching(page: Page) -> Iterator[Shot]:
    """The burst in slow motion, at the pace at which it can be photographed, and what other policies would do."""
    replay = page.locator("#replay")
    while not replay.is_visible():
        yield _photo(page), 250
        page.wait_for_timeout(100)
    yield _photo(page), 6000


def top_still(url: str) -> None:
    """`miniserve top` under the load of 32 clients; its letters are those of the reader's machine."""
    load = [sys.executable, "-m", "ops.cli", "loadtest", "--url", url, "--concurrency", "32", "--duration", "9s"]
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        watch = Watch(Frame(url), Settings())
        for _ in range(2):
            time.sleep(3)
            watch.read()
        console.print(picture(watch.frame, datetime.now(UTC), console.width, "q quits"))
    drawn = console.export_svg(title="miniserve top", unique_id="top")
    without_fonts = re.sub(r"\s+@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # they would come from another host
    (DOCS / "figures" / "top.svg").write_text(without_fonts)


def _save_film(frames: Iterable[Shot], path: Path) -> None:
    images, durations = zip(*frames, strict=True)
    path.parent.mkdir(exist_ok=True)
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, quality=80, method=6)


def _writing(page: Page) -> Iterator[Shot]:
    """Somebody writes, looks at two corrections, accepts by key and takes it back, and then accepts all."""
    why = page.get_by_role("group", name="Why")
    yield _photo(page), 900
    text_box(page).click()
    for start in range(0, len(TYPED), _LETTERS_A_FRAME):
        page.keyboard.type(TYPED[start : start + _LETTERS_A_FRAME])
        yield _photo(page), 110
    expect(marks(page)).to_have_count(4)
    yield _photo(page), 1800
    marks(page).nth(0).click()
    expect(why).to_contain_text("'yesterday' asks for")
    yield _photo(page), 2600
    page.keyboard.press("Control+Enter")
    expect(why).to_contain_text("tense of 'buy'")
    yield _photo(page), 2000
    for keys, count in (("a", 3), ("Control+z", 4)):
        page.keyboard.press(keys)
        expect(marks(page)).to_have_count(count)
        yield _photo(page), 1700
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#notice")).to_have_text("4 corrected.")
    page.mouse.move(0, 0)
    yield _photo(page), 3400


def _photo(page: Page) -> Image.Image:
    return _image(page.screenshot(caret="initial"))


def _image(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def _save_still(page: Page, path: Path) -> None:
    """Few colours are enough, and a third of the bytes."""
    path.parent.mkdir(exist_ok=True)
    _image(page.screenshot()).quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main(names: list[str]) -> None:
    with chromium() as browser:
        if not names or "page" in names:
            with RunningSystem() as system:
                page_stills(browser, system.url)
                page_film(browser, system.url)
        if not names or "live" in names:
            with RunningSystem("--max-slots", "6") as system:
                live_film(browser, system.url)
    if not names or "top" in names:
        with RunningSystem("--workers", "2") as system:
            top_still(system.url)


if __name__ == "__main__":
    main(sys.argv[1:])
