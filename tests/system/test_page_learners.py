"""What a learner often misses, on the page at `/`: off until asked for, counted once, forgotten when turned off."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, Page, expect

from tests.browser import marks, text_box, write
from tests.running_system import send, wait_until


def turn_on(page: Page) -> str:
    """Returns the learner's id."""
    page.get_by_role("switch", name="Count what I miss").check()
    while not (kept := page.evaluate("localStorage.getItem('miniserve.learner')")):
        page.wait_for_timeout(20)
    return json.loads(kept)["id"]


def counts(site: str, learner_id: str) -> dict[str, int]:
    reply = send(site, "GET", f"/learners/{learner_id}")
    return {one["reason"]: one["count"] for one in reply.body["reasons"]} if reply.status == 200 else {}


def test_what_is_often_missed_is_shown_and_forgotten_when_it_is_turned_off(page: Page, site: str) -> None:
    bodies: list[str] = []
    page.on("request", lambda request: bodies.append(request.post_data or ""))
    write(page, "He goed home.")
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#notice")).to_have_text("1 corrected.")
    assert "learner" not in "".join(bodies) and page.evaluate("localStorage.length") == 0  # nobody has asked for it

    learner_id, lines = turn_on(page), page.locator("#learner-list li")
    write(page, "He goed home. They was late. I goed, too.")
    page.get_by_role("button", name="Accept all").click()
    expect(lines).to_have_count(1)  # once is not often
    expect(lines).to_contain_text("Irregular past 2×: go")
    expect(lines).to_contain_text("He goed went to school.")
    assert counts(site, learner_id) == {"irregular_past": 2, "be_agreement": 1}
    page.reload()
    expect(page.get_by_role("heading", name="You often miss")).to_be_visible()
    expect(lines).to_have_count(1)
    assert re.fullmatch("[0-9a-f]{32}", learner_id)

    page.get_by_role("switch", name="Count what I miss").uncheck()
    expect(lines).to_have_count(0)
    expect(page.get_by_role("heading", name="You often miss")).to_be_hidden()
    assert page.evaluate("localStorage.length") == 0
    wait_until(lambda: counts(site, learner_id) == {}, 5, "forgotten")


def decide(page: Page, mark: Locator, button: str) -> None:
    number = marks(page).count()
    mark.click()
    page.get_by_role("group", name="Why").get_by_role("button", name=button).click()
    expect(marks(page)).to_have_count(number - 1)


def test_only_what_is_accepted_counts_and_it_counts_once(page: Page, site: str) -> None:
    learner_id = turn_on(page)
    write(page, "He has wrote to us, and they was late. She go home, and it were cold.")
    expect(marks(page)).to_have_text(["wrote", "was", "go", "were"])
    decide(page, marks(page).last, "Ignore")
    decide(page, marks(page).last, "Accept")  # its sentence has a mistake that is ignored
    decide(page, marks(page).first, "Accept")
    text_box(page).press("Control+z")
    expect(marks(page)).to_have_count(2)
    decide(page, marks(page).first, "Accept")
    wait_until(lambda: counts(site, learner_id) == {"perfect_participle": 1}, 5, "counted")

    with page.expect_response("**/correct/batch"):
        text_box(page).press_sequentially(" Well.")
    decide(page, marks(page).first, "Accept")

    both = {"perfect_participle": 1, "be_agreement": 1}
    wait_until(lambda: counts(site, learner_id) == both, 5, "counted")
