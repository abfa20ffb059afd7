"""What the page at `/` sends, and when: only what changed, and again where the server was busy or away."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import cards, expect_text, marks, text_box, write

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

    expect(page.locator("#notice")).to_contain_text("The server is busy. Trying again in 1 second.")
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

    expect(cards(page).locator("ins")).to_have_text("goes")
    assert [json.loads(body)["sentences"] for body in aborted] == [["He goed to school."]]


def test_a_text_that_is_late_twice_is_called_unread_and_its_neighbour_is_corrected(page: Page) -> None:
    sent: list[list[str]] = []
    late = {"type": "urn:miniserve:problem:deadline-exceeded", "status": 504, "detail": "The time was over."}

    def late_for_one(route: Route) -> None:
        sent.append(route.request.post_data_json["sentences"])
        answer = route.fetch().json()
        places = [late if "late" in text else one for text, one in zip(sent[-1], answer["results"], strict=True)]
        route.fulfill(json={"results": places})

    page.route("**/correct/batch", late_for_one)
    write(page, "He goed home.\n\nThey was late.")

    expect(page.locator("#notice")).to_contain_text("Some sentences could not be read this time.")
    expect(cards(page).locator("ins")).to_have_text(["went", "Not read"])
    assert sent == [["He goed home.", "They was late."], ["They was late."]]


def test_an_answer_that_a_proxy_gave_up_is_waited_for_twice(page: Page) -> None:
    times: list[Route] = []
    page.route("**/correct/batch", lambda route: (times.append(route), route.fulfill(status=504, body="late")))
    write(page, "They was late.")

    expect(page.locator("#notice")).to_contain_text("Some sentences could not be read this time.")
    assert len(times) == 2


@pytest.mark.parametrize("line_break", ["\n\n", "\n"])
def test_only_the_paragraph_that_was_changed_is_sent_again(page: Page, line_break: str) -> None:
    write(page, f"He goed home.{line_break}They was late.")
    expect(marks(page)).to_have_count(2)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data))

    text_box(page).press("Control+End")
    text_box(page).press_sequentially(" She go.")

    expect(marks(page)).to_have_count(3)
    assert [json.loads(body)["sentences"] for body in sent] == [["They was late. She go."]]


def test_a_text_of_many_sentences_is_corrected_to_its_end(page: Page) -> None:
    paragraphs = (["He goed home.", "We are here."], ["He goed to it.", "We sat on the mat."])  # short words end these
    write(page, "\n\n".join([*(" ".join(40 * sentences) for sentences in paragraphs), "They was late."]))

    expect(page.locator("#count")).to_have_text("81 corrections")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_paragraph_over_the_limit_of_a_request_is_marked_and_the_others_are_read(page: Page) -> None:
    write(page, f"He goed home.\n\n{'We sat on the mat, ' * 15_000}and slept.\n\nThey was late.")

    expect(cards(page).locator("ins")).to_have_text(["went", "Not read", "were"])
    cards(page).nth(1).click()
    expect(page.get_by_role("group", name="Why")).to_contain_text("285,010 characters")
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#notice")).to_have_text("2 corrected. 1 part not read.")


def test_a_text_goes_in_smaller_requests_through_a_proxy_that_takes_no_large_ones(page: Page) -> None:
    def take_small_ones(route: Route) -> None:
        is_small = len(route.request.post_data) < 120
        route.continue_() if is_small else route.fulfill(status=413, body="<h1>Request Entity Too Large</h1>")

    page.route("**/correct/batch", take_small_ones)
    places = "home", "work", "school", "Rome", "Paris", "London", "Spain"

    write(page, "\n\n".join(f"He goed to {place}." for place in places))

    expect(cards(page).locator("ins")).to_have_text(["went"] * len(places))
    expect(page.locator("#notice")).to_be_hidden()


def test_a_sentence_over_the_limit_is_marked_and_its_neighbours_are_read(page: Page) -> None:
    text = f"He goed to it. {LONG} They was like me. She go with plan B. {LONG}"
    write(page, text)

    expect(page.locator("#count")).to_have_text("3 corrections")
    expect(page.locator(".mark.hue-too-long")).to_have_text([LONG, LONG])
    page.locator(".mark.hue-too-long").first.click()
    expect(page.get_by_role("group", name="Why")).to_contain_text("has 73 words; the model takes 64 words")
    page.get_by_role("button", name="Accept all").click()
    expect_text(page, text.replace("goed", "went").replace("was", "were").replace("go with", "goes with"))
    expect(page.locator("#notice")).to_have_text("3 corrected. 2 parts not read.")


def test_where_nothing_was_read_nothing_is_called_correct(page: Page) -> None:
    write(page, LONG)

    expect(page.locator("#notice-text")).to_have_text("No part of the text could be checked. The marks say why.")
    expect(page.locator("#status")).to_contain_text("No part of the text could be checked.")


def test_another_language_is_no_success_and_has_a_colour_of_its_own(page: Page) -> None:
    foreign, notice = "Das ist nicht gut, und ich weiß nicht, warum.", page.locator("#notice")
    write(page, f"He goed home.\n\n{foreign}")
    expect(page.locator("#count")).to_have_text("1 correction")
    expect(page.locator(".mark.hue-not-english")).to_have_text(foreign)

    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_role("group", name="Why")).to_contain_text("not to be English")
    expect(page.locator("#count")).to_have_text("1 correction")
    expect(page.get_by_role("button", name="Accept", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#count")).to_have_text("1 of 1")
    page.get_by_role("button", name="Accept", exact=True).first.click()
    expect(page.get_by_role("group", name="Why")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("")
    expect(notice).to_have_text("1 corrected. 1 part not in English.")
    expect(notice).to_have_class("notice foreign")

    write(page, foreign)
    expect(notice).to_have_text("This does not seem to be English. Nothing was checked.")
    write(page, "We are here.")
    expect(notice).to_have_text("No verb mistakes found.")
    expect(notice).to_have_class("notice good")
