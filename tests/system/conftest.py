"""One browser, one system and one that asks for API keys, for all tests of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from xdist.scheduler import LoadScopeScheduling

from api.access.keys import new_key
from tests.browser import PolicyWatch, chromium
from tests.running_system import RunningSystem
from tests.small_server import http, small_servers

expect.set_options(timeout=20_000)  # a machine that runs other tests, too, is slow
Open = Callable[..., Page]


class ByFile(LoadScopeScheduling):
    """A file stays in one process: its tests share what took long to start. Each drill starts a system of its own."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return nodeid if file.endswith("test_chaos.py") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    """The groups of pytest-xdist 3.8 mean nothing to pytest 9.2."""
    config.option.loadscopereorder = False  # as below
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first; files with a browser come last, as no other event loop can run beside it."""
    with_browser = {item.path for item in items if "browser" in item.fixturenames}
    names = ("test_described_api.py", "test_clean_clone.py", "test_chaos.py")
    longest = {name: at - len(names) for at, name in enumerate(names)}
    items.sort(key=lambda item: (longest.get(item.path.name, 0), item.path in with_browser))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as running:
        yield running


@pytest.fixture(scope="session")
def site(system: RunningSystem) -> str:
    return system.url


@dataclass(frozen=True, slots=True)
class KeyedSite:
    """A system that asks for API keys: one that it takes, the file of all, and the site whose pages may ask."""

    url: str
    key: str
    file: Path
    editor: str


@pytest.fixture(scope="session")
def keyed_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedSite]:
    (key, line), file = new_key("tests"), tmp_path_factory.mktemp("keys") / "keys"
    file.write_text(f"{line}\n")
    with small_servers() as start:
        editor = start(lambda _: http(200, "a page")).url
        with RunningSystem("--api-keys-file", str(file), "--cors-origins", editor) as running:
            yield KeyedSite(running.url, key, file, editor)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a URL in a context of its own. No page asks another host, and the policy refuses nothing."""
    pages, watches = [], []

    def open_(url: str, **about: Any) -> Page:
        page = browser.new_page(**about)
        pages.append(page)
        watches.append(PolicyWatch(page, "/".join(url.split("/")[:3])))
        page.goto(url)
        return page

    yield open_
    for page in pages:
        page.close()
    assert [fault for watch in watches for fault in watch.faults] == []


@pytest.fixture
def page(open_page: Open, site: str) -> Page:
    """The page at `/`."""
    return open_page(site, permissions=["clipboard-read", "clipboard-write"])
