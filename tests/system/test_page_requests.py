"""What the page at `/` sends, and when: in parts, only what changed, and again where the server was busy or away."""

from __future__ import annotations

import json

from playwright.sync_api import Page, Route, expect

from api.grammar.language import NOT_ENGLISH, NOTHING_FOUND, PARTLY_ENGLISH
from tests.browser import expect_text, marks, write

LONG = "We saw " + "many " * 70 + "birds."


def test_a_busy_server_is_asked_again_when_it_said(page: Page) -> None:
    times: list[float] = []

    def busy_once(route: Route) -> None:
        times.append(page.evaluate("performance.now()"))
        if len(times) > 1:
            route.continue_()
            return
        problem = {"type": "urn:miniserve:problem:queue-full", "status": 503, "detail": "The queue is full."}
        route.fulfill(status=503, headers={"Retry-After": "1"}, json=problem)

    page.route("**/correct/batch", busy_once)
    write(page, "He goed to school.")

    expect(page.locator("#notice")).to_contain_text("The server is busy. Trying again in 1 s.")
    expect(page.locator("#status")).to_contain_text("Trying again in 1 second.")
    expect(marks(page)).to_have_count(1)
    expect(page.locator("#notice")).to_be_hidden()
    assert len(times) == 2 and times[1] - times[0] >= 1000


def test_without_a_network_the_text_waits_until_it_is_back(page: Page) -> None:
    page.context.set_offline(True)
    write(page, "He goed to school.")
    expect(page.locator("#notice")).to_contain_text("cannot be reached. Your text is still here.")

    page.context.set_offline(False)

    expect(marks(page)).to_have_count(1)
    expect_text(page, "He goed to school.")


def test_the_newest_text_wins_and_the_older_request_is_aborted(page: Page) -> None:
    held: list[Route] = []
    aborted: list[str] = []
    page.on("requestfailed", lambda request: aborted.append(request.post_data))
    page.route("**/correct/batch", lambda route: held.append(route) if not held else route.continue_())
    with page.expect_request("**/correct/batch"):
        write(page, "He goed to school.")

    write(page, "She go to school.")

    expect(marks(page).locator("ins")).to_have_text("goes")
    assert [json.loads(body)["sentences"] for body in aborted] == [["He goed to school."]]


def test_only_the_paragraph_that_was_changed_is_sent_again(page: Page) -> None:
    write(page, "He goed home.\n\nThey was late.")
    expect(marks(page)).to_have_count(2)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data))

    page.get_by_role("textbox", name="Your text").press("Control+End")
    page.get_by_role("textbox", name="Your text").press_sequentially(" She go.")

    expect(marks(page)).to_have_count(3)
    assert [json.loads(body)["sentences"] for body in sent] == [["They was late. She go."]]


def test_a_text_of_many_sentences_is_sent_in_parts(page: Page) -> None:
    paragraphs = (["He goed home.", "We are here."], ["He goed to it.", "We sat on the mat."])  # short words end these
    write(page, "\n\n".join([*(" ".join(40 * sentences) for sentences in paragraphs), "They was late."]))

    expect(marks(page)).to_have_count(81)
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator(".unread")).to_have_count(0)


def test_a_sentence_over_the_limit_is_marked_and_its_neighbours_are_read(page: Page) -> None:
    text = f"He goed to it. {LONG} They was like me. She go with plan B. {LONG}"
    write(page, text)

    expect(marks(page)).to_have_count(3)
    expect(page.locator(".unread")).to_have_text([LONG, LONG])
    expect(page.locator(".unread-why").first).to_contain_text("has 73 words; the model takes 64 words")
    expect(page.locator("#notice")).to_contain_text("2 sentences were not read")
    page.get_by_role("button", name="Accept all").click()
    expect_text(page, text.replace("goed", "went").replace("was", "were").replace("go with", "goes with"))


def test_where_nothing_was_read_nothing_is_called_correct(page: Page) -> None:
    write(page, LONG)

    expect(page.locator("#notice-text")).to_have_text("No part of the text could be checked. The marks say why.")
    expect(page.locator("#status")).to_contain_text("No part of the text could be checked.")


def test_a_part_in_another_language_is_named_beside_corrections_and_without(page: Page) -> None:
    foreign = "Das ist nicht gut, und ich weiß nicht, warum."
    write(page, f"He goed home.\n\n{foreign}")
    expect(marks(page)).to_have_count(1)
    expect(page.locator("#notice-text")).to_have_text(PARTLY_ENGLISH)
    expect(page.locator("#status")).to_contain_text(f"1 correction. {PARTLY_ENGLISH}")

    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#notice-text")).to_have_text(f"{NOTHING_FOUND} {PARTLY_ENGLISH}")

    write(page, foreign)
    expect(page.locator("#notice-text")).to_have_text(NOT_ENGLISH)


def test_corrections_come_on_a_button_where_that_is_wanted(page: Page) -> None:
    page.get_by_role("switch", name="Check as I type").uncheck()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    write(page, "He goed to school.")
    assert sent == []

    page.get_by_role("button", name="Check", exact=True).click()

    expect(marks(page)).to_have_count(1)
    assert len(sent) == 1
