"""A real browser for tests and pictures: Debian's Chromium, driven by Playwright (`make test-system` installs both)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests import system_tools

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]
_LOOKS = ((1280, 800, "light"), (375, 720, "dark"))


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system_tools.find("chromium"), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def open_dashboard(page: Page, url: str) -> None:
    """Go to a page of rq-dashboard, which asks for what it shows some seconds later."""
    with page.expect_response(lambda response: "/data/" in response.url) as data:
        page.goto(url)
    data.value.finished()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


class PolicyWatch:
    """Collects what a page must never do: break its policy, throw, ask another host."""

    def __init__(self, page: Page, url: str) -> None:
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda line: self._note_line(line.type, line.text))
        page.on("request", lambda request: None if request.url.startswith(url) else self.faults.append(request.url))

    def _note_line(self, kind: str, text: str) -> None:
        is_refusal = "Content Security Policy" in text or "Trusted Type" in text
        if is_refusal or (kind == "error" and not text.startswith("Failed to load resource")):
            self.faults.append(text)


def access_faults(page: Page) -> list[str]:
    """What axe-core finds in a page as it is now, wide and light, narrow and dark. Its context has `bypass_csp`."""
    faults = []
    for width, height, scheme in _LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            faults.append(f"wider than {width}")
        if (found := Axe().run(page)).violations_count:
            faults.append(f"{width}, {scheme}: {found.generate_report()}")
    return faults


_PASTE = """(box, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def text_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your text")


def write(page: Page, text: str) -> None:
    """Paste a text in place of what is there."""
    text_box(page).press("Control+A")
    text_box(page).evaluate(_PASTE, text)


def marks(page: Page) -> Locator:
    """In the text, as far as it is near what is in view."""
    return text_box(page).locator(".mark")


def cards(page: Page) -> Locator:
    """The corrections and notes beside the text."""
    return page.locator("#cards > li")


def expect_text(page: Page, text: str) -> None:
    expect(text_box(page).locator(".cm-line")).to_have_text(text.split("\n"))
