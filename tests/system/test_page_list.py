"""The list beside the text: a press on a line and its release are a click, also where the page changes in between."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.browser import cards, marks, text_box, write

LONG = "\n\n".join(["We sat at home and read many books. " * 12 + "She go home."] * 40)
FRAMES = "async (left) => { while (left--) await new Promise(requestAnimationFrame); }"


def expect_count(page: Page, count: str) -> None:
    expect(page.locator("#count")).to_have_text(count)


def press(page: Page, line: int) -> None:
    cards(page).nth(line).get_by_role("button").first.hover()
    page.mouse.down()


def test_the_list_stays_under_a_pressed_pointer_while_the_text_loses_the_focus_and_scrolls(page: Page) -> None:
    write(page, LONG)
    cards(page).nth(20).get_by_role("button").first.click()
    marks(page).and_(page.locator(".open")).click()
    expect(text_box(page)).to_be_focused()
    expect_count(page, "21 of 40")

    press(page, 0)
    expect(page.locator(".cm-focused")).to_have_count(0)
    page.evaluate("scrollBy(0, -1200)")
    page.evaluate(FRAMES, 4)  # the editor measures itself in one and reports it; what that asks for is done in the next
    page.mouse.up()

    expect_count(page, "1 of 40")


def test_a_line_under_a_pressed_pointer_stays_when_an_answer_adds_another(page: Page) -> None:
    held: list[Route] = []
    write(page, "He goed home.")
    expect(cards(page)).to_have_count(1)
    page.route("**/correct/batch", lambda route: held.append(route))
    with page.expect_request("**/correct/batch"):
        write(page, "He goed home.\n\nThey was late.")

    press(page, 0)
    for _ in range(1000):
        page.wait_for_timeout(10)
        if held:
            break
    held[0].continue_()
    expect(cards(page)).to_have_count(2)
    page.mouse.up()

    expect_count(page, "1 of 2")


def test_the_toolbar_covers_no_line_where_the_page_ends(page: Page) -> None:
    write(page, "\n\n".join(["He goed to town and they was late."] * 14))
    expect(cards(page)).to_have_count(28)

    page.evaluate("scrollTo(0, document.body.scrollHeight)")

    toolbar, lines = page.locator(".toolbar").bounding_box(), page.locator("#cards").bounding_box()
    assert toolbar and lines and lines["y"] >= toolbar["y"] + toolbar["height"]
