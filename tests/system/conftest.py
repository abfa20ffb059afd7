"""One browser for all tests of a process, and the page at `/` of one running system."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import PolicyWatch, chromium
from tests.running_system import RunningSystem

expect.set_options(timeout=20_000)  # a machine that runs other tests, too, is slow


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file stays in one process: its tests share what took long to start. Each drill starts a system of its own."""
    for item in items:
        if item.path.name != "test_chaos.py":
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with RunningSystem() as running:
        yield running.url


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """At the end nothing has been asked of another host, and nothing was refused by the policy."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    watch = PolicyWatch(page, site)
    page.goto(site)
    yield page
    context.close()
    assert watch.faults == []
