"""The live view at `/ops` in a real browser: what it counts is what happened, and the keyboard suffices."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.mailbox_house import eventually
from tests.running_system import RunningSystem, send
from tests.system.conftest import Open

_COLOURS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3]) found.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
  }
  return found.size;
}"""
_STILL = {"reduced_motion": "reduce"}  # all that is new is drawn at once


@pytest.fixture(scope="module")
def demo() -> Iterator[RunningSystem]:
    with RunningSystem("--max-slots", "6") as running:
        yield running


def tab_to(page: Page, name: str) -> Locator:
    button = page.get_by_role("button", name=name)
    expect(button).to_be_enabled()  # a worker has reported
    while not button.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    return button


def num_answers(url: str) -> int:
    text = send(url, "GET", "/metrics").body
    return int(float(re.search(r'^miniserve_request_success_total\{finished_reason="stop"\} (\S+)', text, re.M)[1]))


def counts(page: Page) -> list[int]:
    """Iterations, sentences answered, slots that were freed while others waited, and who joined in the next one."""
    return [int(number) for number in re.findall(r": (\d+)", page.locator("#count").inner_text())[:4]]


def test_the_counts_of_a_burst_are_those_of_the_metrics_for_all_who_watch(open_page: Open, demo: RunningSystem) -> None:
    before = num_answers(demo.url)
    pages = [open_page(f"{demo.url}/ops", **_STILL) for _ in range(2)]

    for page in reversed(pages):
        tab_to(page, "Send a burst")
    pages[0].keyboard.press("Enter")
    expect(pages[0].locator("#said")).to_contain_text("60 sentences were answered", timeout=30_000)
    eventually(lambda: num_answers(demo.url) == before + 60, 20, 0.1)

    for page in pages:
        expect(page.locator("#count")).to_contain_text("Sentences answered: 60.")
        iterations, answered, freed, joined = counts(page)
        # Of the twelve of a request six find a slot empty. On a busy machine the next one may come when all are done.
        assert answered == 60 and 6 <= freed == joined <= 54
        expect(page.locator(".worker h3").first).to_have_text(re.compile(r": 0 of 6 slots busy$"))
        expect(page.locator(".worker .number")).to_have_text("0")
        assert page.locator(".worker canvas").evaluate(_COLOURS) > 50
        expect(page.locator("#replay-name")).to_contain_text("The same 60 sentences on 6 slots")
        figures = [page.locator(f"#{policy} b").inner_text() for policy in ("continuous", "static", "fixed")]
        continuous, static, fixed = (int(figure.removesuffix(" iterations")) for figure in figures)
        assert continuous <= iterations and continuous < static < fixed == 320


def test_a_worker_of_many_slots_is_drawn_in_part_and_says_how_to_see_more(open_page: Open, site: str) -> None:
    page = open_page(f"{site}/ops", **_STILL)

    tab_to(page, "Send a burst").press("Enter")

    expect(page.locator("#count")).to_contain_text("Sentences answered: 60.", timeout=30_000)
    expect(page.locator("#count")).to_contain_text("miniserve up --max-slots 6")
    expect(page.locator(".worker h3").first).to_have_text(re.compile(r": 0 of 256 slots busy; the first 16 are drawn$"))


def test_a_refused_burst_says_why(open_page: Open, site: str) -> None:
    page = open_page(f"{site}/ops")
    problem = {"status": 429, "detail": "This client has sent more than its share; try again in 2 s."}
    page.route("**/correct/batch", lambda route: route.fulfill(status=429, json=problem))

    page.get_by_role("button", name="Send a burst").click()

    expect(page.locator("#said")).to_have_text(f"The server refused 5 of 5 requests: {problem['detail']}")
    # Its colours change at once where it may be pressed again: in between, its words would be hard to read on it.
    assert page.locator("#burst").evaluate("button => getComputedStyle(button).transitionDuration") == "0s"


def test_the_picture_is_stopped_by_keyboard_and_goes_on(open_page: Open, demo: RunningSystem) -> None:
    page = open_page(f"{demo.url}/ops")
    tab_to(page, "Send a burst").press("Enter")
    expect(page.locator("#count")).to_contain_text("to come")

    pause = tab_to(page, "Pause")
    pause.press("Enter")
    expect(pause).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#said")).to_contain_text("were answered", timeout=30_000)
    stopped = counts(page)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert counts(page) == stopped

    pause.press("Enter")
    expect(page.locator("#count")).to_contain_text("Sentences answered: 60.")
