"""The page at `/` in a real browser: corrections as one types, decisions about them, and what becomes of the text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Route, expect

from tests import system_tools
from tests.browser import ARGUMENTS, cards, expect_text, marks, text_box, write
from tests.system.conftest import Open

LETTERS = "I have wrote three letters, and they was lost."
MANY = "He goed home. She go home. They was late. We has time. I seen him."
HOSTILE = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
WRONG = ("She don't like it.", "They was very tired.", "He swimmed every day.", "He can plays the piano.")
LONG = "\n\n".join(
    f"{'We sat at home and read many books. ' * 3}{WRONG[n % 4]} {'It was late. ' * 4}" for n in range(40)
)


def card(page: Page) -> Locator:
    return page.get_by_role("group", name="Why")


def press(page: Page, button: str) -> None:
    page.get_by_role("group", name="Decide").get_by_role("button", name=button, exact=True).click()


def expect_count(page: Page, count: str) -> None:
    expect(page.locator("#count")).to_have_text(count)


def keys(page: Page, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def test_a_mistake_is_marked_in_the_text_and_explained_beside_it(page: Page) -> None:
    text_box(page).press_sequentially("He goed to school.")

    expect(marks(page)).to_have_text("goed")
    expect_text(page, "He goed to school.")
    for part, text in (("del", "goed"), ("ins", "went"), (".why", "Irregular past")):
        expect(cards(page).locator(part)).to_have_text(text)
    expect(page.locator("#status")).to_have_text("1 correction.")
    expect(text_box(page)).to_have_attribute("spellcheck", "true")

    marks(page).click()
    expect(card(page)).to_contain_text("The past tense of 'go' is the irregular form 'went'.")
    expect(card(page)).to_contain_text(re.compile("Right in [1-9] of 10 such cases"))
    box, mark = card(page).bounding_box(), marks(page).bounding_box()
    assert box["x"] > mark["x"] + mark["width"]
    keys(page, "Escape")
    expect(card(page)).to_have_count(0)


def test_one_tap_after_a_long_text_is_pasted_on_a_phone_shows_the_first_correction(open_page: Open, site: str) -> None:
    page = open_page(site, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    write(page, LONG)
    expect_count(page, "40 corrections")

    page.get_by_role("button", name="Next").tap()

    expect_count(page, "1 of 40")
    expect(card(page)).to_contain_text("With the subject 'she'")
    expect(page.locator(".mark.open")).to_be_in_viewport()
    bar = page.get_by_role("group", name="Decide")
    for button in bar.get_by_role("button").all():  # of which only the icon is seen
        expect(button).to_have_accessible_name(button.get_attribute("title") or "a title")
    above, sheet, mark = (each.bounding_box() for each in (bar, cards(page).first, page.locator(".mark.open")))
    assert (sheet["x"], sheet["width"]) == (0, 390) and sheet["y"] + sheet["height"] == pytest.approx(844, abs=1)
    assert (
        mark["y"] > page.get_by_role("group", name="Decide").bounding_box()["height"]
        and mark["y"] + mark["height"] < sheet["y"]
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for left in (39, 38):
        card(page).get_by_role("button", name="Accept").tap()
        expect_count(page, f"1 of {left}")


def test_a_line_of_the_list_leads_to_its_place_in_a_long_text(page: Page) -> None:
    write(page, LONG)
    expect_count(page, "40 corrections")

    for at in (39, 0, 20):
        cards(page).nth(at).get_by_role("button").first.click()
        expect_count(page, f"{at + 1} of 40")
        expect(page.locator(".mark.open")).to_be_in_viewport()
        expect(card(page).get_by_role("button", name="Ignore")).to_be_in_viewport()


def test_control_z_in_the_text_takes_back_each_decision_where_it_was_after_more_was_typed(page: Page) -> None:
    write(page, LETTERS)
    marks(page).last.click()
    press(page, "Accept")
    expect_text(page, "I have wrote three letters, and they were lost.")
    expect_count(page, "1 of 1")
    card(page).get_by_role("button", name="Ignore").click()
    expect(page.locator("#notice")).to_have_text("1 corrected, 1 ignored.")
    text_box(page).press("Home")
    with page.expect_response("**/correct/batch"):
        text_box(page).press_sequentially("Well, ")
    expect(page.locator("#notice")).to_have_text("1 corrected, 1 ignored.")

    keys(page, "Control+z")
    expect(marks(page)).to_have_count(0)
    keys(page, "Control+z")
    expect(marks(page)).to_have_text(["wrote"])
    keys(page, "Control+z")
    expect_text(page, LETTERS)
    expect(marks(page)).to_have_text(["wrote", "was"])
    press(page, "Accept all")
    expect(page.locator("#notice")).to_have_text("2 corrected.")
    text_box(page).press("Control+z")
    expect_text(page, LETTERS)
    expect_count(page, "2 corrections")


def test_all_can_be_done_by_keyboard_alone(page: Page) -> None:
    keys(page, "Tab")
    expect(page.get_by_role("link", name="Skip to the text")).to_be_focused()
    keys(page, "Enter")
    page.keyboard.type(MANY)
    expect(marks(page)).to_have_count(5)
    keys(page, "Control+Enter")
    expect(page.get_by_role("button", name="Accept", exact=True).last).to_be_focused()
    expect(card(page)).to_contain_text("'go'")
    expect(page.locator("#status")).to_contain_text("1 of 5. goed becomes went")
    keys(page, "ArrowRight", "ArrowLeft", "a", "i", "Enter")
    expect_text(page, "He went home. She go home. They were late. We has time. I seen him.")
    keys(page, "Escape")
    expect(card(page)).to_have_count(0)
    expect(text_box(page)).to_be_focused()

    keys(page, "Control+z", "Control+z", "Control+z")
    expect_text(page, MANY)
    expect(marks(page)).to_have_count(5)
    while not page.evaluate("document.activeElement.id === 'accept-all'"):
        keys(page, "Shift+Tab")
    keys(page, "Enter")
    expect_text(page, "He went home. She goes home. They were late. We have time. I saw him.")
    expect(page.locator("#notice")).to_have_text("5 corrected.")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    keys(page, "Enter")
    expect_text(page, MANY)


def test_a_card_shows_its_keys_only_while_they_work(page: Page) -> None:
    write(page, MANY)
    marks(page).first.click()
    expect(card(page)).to_be_visible()
    expect(text_box(page)).to_be_focused()
    expect(card(page).locator("kbd").first).to_be_hidden()

    keys(page, "Escape", "Control+Home", "Control+Enter")
    expect(card(page).locator("kbd")).to_have_text(["A", "I"])
    expect(card(page).locator("kbd").first).to_be_visible()
    keys(page, "a")
    expect_text(page, MANY.replace("goed", "went"))


def test_accept_in_the_bar_is_off_until_a_correction_is_open(page: Page) -> None:
    write(page, MANY)
    expect_count(page, "5 corrections")
    accept = page.get_by_role("group", name="Decide").get_by_role("button", name="Accept", exact=True)
    expect(accept).to_be_disabled()

    marks(page).first.click()
    accept.click()
    expect_text(page, MANY.replace("goed", "went"))
    expect(accept).to_be_enabled()  # the next one is open
    text_box(page).press("Escape")
    expect(accept).to_be_disabled()


def test_a_card_that_was_closed_stays_closed_when_an_answer_comes(page: Page) -> None:
    write(page, MANY)
    expect(marks(page)).to_have_count(5)
    held: list[Route] = []
    page.route("**/correct/batch", lambda route: held.append(route))
    text_box(page).press("Control+End")
    with page.expect_request("**/correct/batch"):
        text_box(page).press_sequentially(" She go.")
    keys(page, "Control+Enter", "Escape")
    expect(card(page)).to_have_count(0)

    held[-1].continue_()

    expect(marks(page)).to_have_count(6)
    expect(card(page)).to_have_count(0)


def test_an_example_is_corrected_as_soon_as_it_is_chosen_and_copied_as_it_stands(page: Page) -> None:
    page.get_by_role("button", name="I have wrote three letters").click()

    expect(cards(page).locator("ins")).to_have_text(["written", "were"])
    for number, said in ((0, "Copied as it is, 2 corrections not accepted."), (2, "Copied.")):
        if number:
            press(page, "Accept all")
            expect(page.locator("#notice")).to_have_text(f"{number} corrected.")
        press(page, "Copy")
        expect(page.locator("#notice")).to_have_text(said)
        expect_text(page, page.evaluate("navigator.clipboard.readText()"))


def test_places_are_right_beside_emoji_and_combined_characters_and_where_a_word_is_missing(page: Page) -> None:
    text = "\U0001d49c 😀 “Yes.” He goed home. e\u0301 they was late 🙈. They singing now."
    write(page, text)

    expect(marks(page)).to_have_text(["goed", "was", "singing"])
    press(page, "Accept all")
    expect_text(page, text.replace("goed", "went").replace("they was", "they were").replace("They s", "They are s"))


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
    expect(cards(page).locator("ins")).to_have_text(HOSTILE)
    assert page.locator("main img, main script").count() == 0
    assert page.title() == title


def test_a_draft_outlives_a_reload_in_its_tab_alone_until_it_is_forgotten(page: Page, site: str) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    write(page, "My secret goed home.")
    expect(marks(page)).to_have_count(1)
    kept = page.evaluate("[localStorage.length, { ...sessionStorage }, document.cookie, location.href]")
    assert kept == [0, {"miniserve.draft": "My secret goed home."}, "", f"{site}/"]
    assert f"{site}/correct/batch" in urls and "secret" not in " ".join(urls)
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 0

    page.reload()
    expect(marks(page)).to_have_text(["goed"])
    page.get_by_role("button", name="Forget it").click()

    assert page.evaluate("sessionStorage.length") == 0
    keys(page, "Control+z")
    expect_text(page, "My secret goed home.")


def test_what_was_ignored_stays_ignored_after_a_reload_until_the_draft_is_forgotten(page: Page) -> None:
    write(page, LETTERS)
    marks(page).first.click()
    card(page).get_by_role("button", name="Ignore").click()
    expect(marks(page)).to_have_text(["was"])

    page.reload()
    expect(marks(page)).to_have_text(["was"])
    expect_count(page, "1 correction")
    page.get_by_role("button", name="Forget it").click()
    assert page.evaluate("sessionStorage.length") == 0
    write(page, LETTERS)
    expect(marks(page)).to_have_text(["wrote", "was"])


def test_the_page_works_where_the_browser_keeps_nothing(browser: Browser, site: str, tmp_path: Path) -> None:
    preferences = {"profile": {"default_content_setting_values": {"cookies": 2}}}  # all of them are blocked
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(preferences))
    chromium, faults = system_tools.find("chromium"), []
    with browser.browser_type.launch_persistent_context(tmp_path, executable_path=chromium, args=ARGUMENTS) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(error))
        page.goto(site)
        for storage in ("sessionStorage", "localStorage"):
            with pytest.raises(Error, match="denied"):
                page.evaluate(storage)

        page.get_by_role("switch", name="Count what I miss").check()
        write(page, f"{MANY} You goed home.")
        press(page, "Accept all")

        expect(page.locator("#notice")).to_have_text("6 corrected.")
        expect(page.locator("#learner-list li")).to_have_count(1)
        expect(page.locator("#draft")).to_be_hidden()
        page.get_by_role("switch", name="Count what I miss").uncheck()
        expect(page.locator("#learner-list li")).to_have_count(0)
        assert faults == []
