"""The page at `/` of a server that asks for API keys: a key becomes a session, which lasts until the key is revoked."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from api.access.keys import new_key
from tests.browser import PolicyWatch
from tests.running_system import RunningSystem, wait_until


def test_a_key_is_exchanged_once_for_a_session_that_ends_with_it(browser: Browser, tmp_path: Path) -> None:
    (key, line), (unknown, _), file = new_key("ana"), new_key("eve"), tmp_path / "keys"
    file.write_text(f"{line}\n")
    with RunningSystem("--api-keys-file", str(file)) as server:
        page = browser.new_context().new_page()
        watch = PolicyWatch(page, server.url)
        page.goto(server.url)
        text, field = page.get_by_role("textbox", name="Your text"), page.get_by_label("Key", exact=True)
        text.fill("He goed to school.")
        expect(field).to_be_focused()

        field.fill(unknown)
        field.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("This key is not valid")
        field.fill(key)
        field.press("Enter")
        expect(page.locator(".mark")).to_have_count(1)
        assert field.input_value() == ""
        assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]

        page.reload()
        text.fill("She go to school.")
        expect(page.locator(".mark")).to_have_count(1)

        file.write_text("")
        wait_until(lambda: page.request.get(f"{server.url}/metrics").status == 401, 5, "the key is revoked")
        text.fill("They was late.")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.get_by_role("button", name="Not now").click()
        expect(page.locator("#notice")).to_contain_text("Without a key")
        page.context.close()
    assert watch.faults == []
