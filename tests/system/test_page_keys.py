"""The page at `/` of a server that asks for API keys: the key is in its memory, and in the tab if that is wanted."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from api.access.keys import new_key
from tests.browser import PolicyWatch
from tests.running_system import RunningSystem, wait_until


def test_the_page_asks_for_a_key_and_keeps_it_no_longer_than_is_wanted(browser: Browser, tmp_path: Path) -> None:
    (key, line), (unknown, _), file = new_key("ana"), new_key("eve"), tmp_path / "keys"
    file.write_text(f"{line}\n")
    with RunningSystem("--api-keys-file", str(file)) as server:
        page = browser.new_context().new_page()
        watch = PolicyWatch(page, server.url)
        page.goto(server.url)
        text, field = page.get_by_role("textbox", name="Your text"), page.get_by_label("Key", exact=True)
        kept, go_on = page.get_by_label("Keep it until this tab is closed"), page.get_by_role("button", name="Go on")
        text.fill("He goed to school.")
        expect(field).to_be_focused()

        for no_key in (unknown, "é"):
            field.fill(no_key)
            field.press("Enter")
            expect(field).to_be_focused()
        expect(page.get_by_role("alert")).to_contain_text("This key is not valid")
        field.fill(f"  {key} ")
        field.press("Enter")
        expect(page.locator(".mark")).to_have_count(1)
        assert field.input_value() == ""
        assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]

        page.reload()
        text.fill("She go to school.")
        field.fill(key)
        kept.check()
        go_on.click()
        expect(page.locator(".mark")).to_have_count(1)
        page.goto(f"{server.url}/ops")
        expect(page.locator("#figures dd").first).to_be_visible()
        page.goto(server.url)
        text.fill("They was late.")
        expect(page.locator(".mark")).to_have_count(1)

        file.write_text("")
        bearer = {"Authorization": f"Bearer {key}"}
        wait_until(lambda: page.request.get(f"{server.url}/metrics", headers=bearer).status == 401, 5, "it is revoked")
        text.fill("We was late.")
        expect(page.get_by_role("alert")).to_contain_text("This key is not valid")
        page.get_by_role("button", name="Not now").click()
        expect(page.locator("#notice")).to_contain_text("Without a key")
        assert page.evaluate("sessionStorage.length") == 0
        page.context.close()
    assert watch.faults == []
