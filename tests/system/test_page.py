"""The page at `/` in a real browser: corrections as one types, decisions about them, and what becomes of the text."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser import expect_text, marks, write
from tests.system.conftest import Open

LETTERS = "I have wrote three letters, and they was lost."
MANY = "He goed home. She go home. They was late. We has time. I seen him."
HOSTILE = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"


def card(page: Page) -> Locator:
    return page.get_by_role("group", name="Why")


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def result(page: Page) -> str:
    """The text as it would be copied."""
    press(page, "Copy")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return page.evaluate("navigator.clipboard.readText()")


def test_a_mistake_is_struck_and_replaced_in_place_and_explained_while_it_is_pointed_at(page: Page) -> None:
    page.get_by_role("textbox", name="Your text").press_sequentially("He goed to school.")

    mark = marks(page)
    expect(mark).to_have_count(1)
    for part, text in (("del", "goed"), ("ins", "went"), (".why", "Irregular past")):
        expect(mark.locator(part)).to_have_text(text)
    expect(page.locator("#status")).to_have_text("1 correction.")

    mark.hover()
    expect(card(page)).to_contain_text("The past tense of 'go' is the irregular form 'went'.")
    expect(card(page)).to_contain_text("% sure")
    card(page).hover()
    expect(card(page)).to_be_visible()
    page.get_by_role("heading", level=1).hover()
    expect(card(page)).to_have_count(0)


def test_a_tap_on_a_phone_explains_a_correction_at_the_foot_of_the_screen(open_page: Open, site: str) -> None:
    page = open_page(site, viewport={"width": 375, "height": 720}, has_touch=True, is_mobile=True)
    write(page, LETTERS)
    marks(page).last.tap()

    expect(card(page)).to_contain_text("With the subject 'they'")
    box = card(page).bounding_box()
    assert (box["x"], box["width"]) == (0, 375) and box["y"] + box["height"] == pytest.approx(720, abs=1)
    assert page.evaluate("document.documentElement.scrollWidth") == 375

    card(page).get_by_role("button", name="Accept").tap()
    expect_text(page, "I have wrote three letters, and they were lost.")


def test_what_is_accepted_or_ignored_is_undone_where_it_was_after_more_was_typed(page: Page) -> None:
    write(page, LETTERS)
    marks(page).last.click()
    press(page, "Accept")
    expect_text(page, "I have wrote three letters, and they were lost.")
    expect(marks(page)).to_have_count(1)
    marks(page).first.click()
    press(page, "Ignore")
    expect(marks(page)).to_have_count(0)
    assert result(page) == "I have wrote three letters, and they were lost."
    page.get_by_role("textbox", name="Your text").press("Home")
    with page.expect_response("**/correct/batch"):
        page.get_by_role("textbox", name="Your text").press_sequentially("Well, ")
    expect(page.locator("#notice")).to_contain_text("Nothing is left to correct")

    press(page, "Undo")
    expect(marks(page)).to_have_count(1)
    press(page, "Undo")
    expect_text(page, "Well, " + LETTERS)
    expect(marks(page)).to_have_count(2)


def test_all_can_be_done_by_keyboard_alone(page: Page) -> None:
    def keys(*names: str) -> None:
        for name in names:
            page.keyboard.press(name)

    keys("Tab")
    expect(page.get_by_role("link", name="Skip to the text")).to_be_focused()
    keys("Enter")
    page.keyboard.type(MANY)
    expect(marks(page)).to_have_count(5)
    keys("Tab")
    while not page.evaluate("document.activeElement.matches('.mark')"):
        keys("Tab")
    expect(card(page)).to_contain_text("'go'")
    keys("ArrowRight", "ArrowLeft", "a", "i", "Enter")
    expect(page.get_by_role("button", name="Accept", exact=True)).to_be_focused()
    keys("Enter")
    expect_text(page, "He went home. She go home. They were late. We has time. I seen him.")
    keys("Escape")
    expect(card(page)).to_have_count(0)
    expect(marks(page).first).to_be_focused()

    keys("Control+z", "Control+z", "Control+z")
    expect_text(page, MANY)
    expect(marks(page)).to_have_count(5)
    page.get_by_role("button", name="Accept all").focus()
    keys("Enter")
    expect_text(page, "He went home. She goes home. They were late. We have time. I saw him.")
    keys("Shift+Tab")
    expect(page.get_by_role("button", name="Copy")).to_be_focused()
    expect(page.locator("#status")).to_contain_text("No verb mistakes")  # else this would come after what follows
    keys("Enter")
    expect(page.locator("#status")).to_contain_text("Copied")
    press(page, "Undo")
    expect_text(page, MANY)
    expect(marks(page)).to_have_count(5)


def test_a_card_that_was_closed_stays_closed_when_an_answer_comes(page: Page) -> None:
    write(page, MANY)
    expect(marks(page)).to_have_count(5)
    held: list[Route] = []
    page.route("**/correct/batch", lambda route: held.append(route))
    while not page.evaluate("document.activeElement.matches('.mark')"):
        page.keyboard.press("Tab")
    with page.expect_request("**/correct/batch"):
        page.locator("#text").evaluate("box => { box.value += ' She go.'; box.dispatchEvent(new Event('input')); }")
    page.keyboard.press("Escape")
    expect(card(page)).to_have_count(0)

    held[-1].continue_()

    expect(marks(page)).to_have_count(6)
    expect(card(page)).to_have_count(0)


def test_an_example_is_corrected_as_soon_as_it_is_chosen(page: Page) -> None:
    page.get_by_role("button", name="If it will rain tomorrow").click()

    expect(marks(page).locator("ins")).to_have_text("rains")
    assert result(page) == "If it rains tomorrow, we stay at home."


def test_places_are_right_beside_emoji_and_combined_characters(page: Page) -> None:
    text = "\U0001d49c 😀 “Yes.” He goed home. e\u0301 they was late 🙈."
    write(page, text)

    expect(marks(page).locator("del")).to_have_text(["goed", "was"])
    press(page, "Accept all")
    expect_text(page, text.replace("goed", "went").replace("they was", "they were"))


def test_markup_in_a_text_or_in_an_answer_is_only_text(page: Page) -> None:
    words = dict.fromkeys(("original", "replacement", "reason", "title", "explanation"), HOSTILE)
    edit = words | {"start": 0, "end": 2, "confidence": 0.9}
    result = {"edits": [edit], "explanation": HOSTILE, "corrected": HOSTILE, "notes": []}
    answer = {"results": [result | {"language": {"code": "en", "confidence": 0.9}}]}
    page.route("**/correct/batch", lambda route: route.fulfill(json=answer))
    title = page.title()

    write(page, f"He goed to {HOSTILE}.")
    marks(page).first.click()

    expect(card(page)).to_contain_text(HOSTILE)
    expect(marks(page).locator("ins")).to_have_text(HOSTILE)
    assert page.locator("#result img, #result script").count() == 0
    assert page.title() == title


def test_the_text_is_kept_in_no_address_and_in_no_storage(page: Page, site: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    write(page, "My secret goed home.")
    expect(marks(page)).to_have_count(1)

    kept = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie, location.href]")
    assert kept == [0, 0, "", f"{site}/"]
    assert f"{site}/correct/batch" in urls and "secret" not in " ".join(urls)
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 0
