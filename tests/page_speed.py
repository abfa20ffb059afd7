"""Measures the pages on an idle server: `python -m tests.page_speed`. The figures are in docs/benchmarks.md.

Bytes and axe-core's verdict of `/`, `/ops` and `/docs`; of `/`, how soon it is painted and how soon it marks.
"""

from __future__ import annotations

import statistics

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from ops.load import prompts
from tests.browser import chromium
from tests.running_system import RunningSystem

NUM_LOADS = 20
NUM_SENTENCES = 100
# Asked by promises: the page's policy forbids the string that Playwright's own waiting would evaluate.
_PAINT = """() => new Promise((done) => {
  const take = (seen) => seen.getEntriesByName("first-contentful-paint").forEach((one) => done(one.startTime));
  new PerformanceObserver(take).observe({ type: "paint", buffered: true });
})"""
_MARKED = """(number) => new Promise((done) => {
  const look = () => (performance.getEntriesByName("pause to mark").length >= number ? done() : setTimeout(look, 20));
  look();
})"""


def about(browser: Browser, url: str) -> str:
    """The bytes that a page loads at once, not compressed, and what axe-core says of it, light and dark."""
    rules, sizes = [], []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
        page.goto(url)
        rules.append(Axe().run(page).violations_count)
        context.close()
    return f"{sum(sizes) // 2:,} bytes, axe-core: {rules[0]} violations light, {rules[1]} dark"


def first_paints_ms(browser: Browser, url: str) -> list[float]:
    """Each in a browser that has nothing of the page yet."""
    paints = []
    for _ in range(NUM_LOADS):
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        paints.append(page.evaluate(_PAINT))
        context.close()
    return paints


def marks_ms(browser: Browser, url: str) -> list[float]:
    """From the end of the pause to the frame with the answer."""
    page = browser.new_page()
    page.goto(url)
    text = page.get_by_role("textbox", name="Your text")
    for number, sentence in enumerate(prompts.load(None, 7)[:NUM_SENTENCES], start=1):
        text.fill(sentence)
        page.evaluate(_MARKED, number)
    return page.evaluate("performance.getEntriesByName('pause to mark').map((one) => one.duration)")


def _shown(values: list[float]) -> str:
    return f"median {statistics.median(values):.0f} ms, p95 {statistics.quantiles(values, n=20)[-1]:.0f} ms"


def main() -> None:
    with RunningSystem() as system, chromium() as browser:
        for path in ("/", "/ops", "/docs"):
            print(f"{path}:", about(browser, system.url + path))
        print("first paint:", _shown(first_paints_ms(browser, system.url)))
        print("pause to mark:", _shown(marks_ms(browser, system.url)))


if __name__ == "__main__":
    main()
