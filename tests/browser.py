"""A real browser for tests and pictures: Debian's Chromium, driven by Playwright (`make test-system` installs both)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests import system_tools

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system_tools.find("chromium"), args=_ARGUMENTS)
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


def visit(browser: Browser, url: str) -> str:
    """What the scripts of a page of rq-dashboard made of it, as HTML."""
    page = browser.new_page()
    try:
        open_dashboard(page, url)
        return page.content()
    finally:
        page.close()


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


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Your text").fill(text)


def marks(page: Page) -> Locator:
    return page.locator("#result .mark")


def expect_text(page: Page, text: str) -> None:
    expect(page.get_by_role("textbox", name="Your text")).to_have_value(text)
