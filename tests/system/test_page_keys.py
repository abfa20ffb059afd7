"""The pages of a server that asks for API keys: the key is in their memory, and in the tab if that is wanted."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from api.access.keys import new_key
from tests.browser import marks, write
from tests.running_system import send, wait_until
from tests.system.conftest import KeyedSite, Open


def change(site: KeyedSite, lines: str, key: str, status: int) -> None:
    """Other lines in its file, of which it has heard when this key gets that status."""
    site.file.write_text(lines)
    bearer = {"Authorization": f"Bearer {key}"}
    wait_until(lambda: send(site.url, "GET", "/metrics", headers=bearer).status == status, 5, "it has read its file")


def give(page: Page, key: str) -> None:
    field = page.get_by_label("Key", exact=True)
    expect(field).to_be_focused()
    field.fill(key)
    field.press("Enter")


def test_the_pages_ask_for_a_key_and_keep_it_no_longer_than_is_wanted(open_page: Open, keyed_site: KeyedSite) -> None:
    others, (key, line) = keyed_site.file.read_text(), new_key("ana")
    change(keyed_site, f"{others}{line}\n", key, 200)
    page = open_page(keyed_site.url)
    write(page, "He goed to school.")
    for no_key in (new_key("eve")[0], "é"):
        give(page, no_key)
    expect(page.get_by_role("alert")).to_contain_text("This key is not valid")
    give(page, f"  {key} ")
    expect(marks(page)).to_have_count(1)
    assert page.get_by_label("Key", exact=True).input_value() == ""
    assert page.evaluate("[document.cookie, localStorage.length, Object.keys(sessionStorage)]") == [
        "",
        0,
        ["miniserve.draft"],
    ]

    page.goto(f"{keyed_site.url}/ops")
    give(page, key)
    expect(page.get_by_role("button", name="Send a burst")).to_be_enabled()
    page.goto(keyed_site.url)
    page.get_by_label("Key", exact=True).fill(key)  # asked for at once: there is a draft
    page.get_by_label("Keep it until this tab is closed").check()
    page.get_by_role("button", name="Continue").click()
    expect(marks(page)).to_have_count(1)
    page.goto(f"{keyed_site.url}/ops")
    expect(page.get_by_role("button", name="Send a burst")).to_be_enabled()
    page.goto(keyed_site.url)
    write(page, "They was late.")
    expect(marks(page)).to_have_count(1)

    change(keyed_site, others, key, 401)
    write(page, "We was late.")
    expect(page.get_by_role("alert")).to_contain_text("This key is not valid")
    page.get_by_role("button", name="Not now").click()
    expect(page.locator("#notice")).to_contain_text("Without a key")
    assert page.evaluate("sessionStorage.getItem('miniserve.key')") is None
