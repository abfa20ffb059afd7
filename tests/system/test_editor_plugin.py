"""A plug-in that others wrote for LanguageTool: in a real browser, a page of another origin, with an API key."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from api.access.keys import new_key
from tests.running_system import RunningSystem
from tests.tried_clients import tried

NPM = Path(sys.prefix, "npm", "node_modules")
FILES = {"quill.js": NPM / "quill/dist/quill.js", "plugin.js": NPM / "quill-languagetool/dist/index.es.js"}
PAGE = """<!doctype html><meta charset="utf-8"><title>Editor</title><div id="box"></div>
<script>globalThis.process = {{ env: {{ NODE_ENV: "production" }} }};</script>
<script src="quill.js"></script>
<script type="module">
import register from "./plugin.js";
register(Quill);
const languageTool = {{ server: "{url}", language: "en-US", cooldownTime: 50, apiOptions: {{ apiKey: "{key}" }} }};
globalThis.quill = new Quill("#box", {{ modules: {{ languageTool }} }});
</script>"""
TEXT = "\U0001f600 He goed home. \u201cWe was late.\u201d\n\n\U0001f680 She didn\u2019t knew it."
MENDED = (("goed", "went"), ("was", "were"), ("knew", "know"))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """Serves a folder; its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def editor(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    for name, path in FILES.items():
        shutil.copy(path, tmp_path / name)
    key, line = new_key("editor")
    (tmp_path / "keys").write_text(line)
    options = "--api-keys-file", str(tmp_path / "keys")
    with other_site(tmp_path) as origin, RunningSystem("--cors-origins", origin, *options) as system:
        (tmp_path / "index.html").write_text(PAGE.format(url=system.url, key=key), encoding="utf-8")
        page = browser.new_page()
        page.goto(f"{origin}/index.html")
        page.wait_for_function("globalThis.quill")
        yield page
        page.close()


def test_the_editor_marks_the_mistakes_in_their_places_and_mends_them(editor: Page) -> None:
    with tried("quill-languagetool"):
        # As somebody types: what changes within 0.1 s of an answer, the plug-in takes for its own marks.
        editor.locator(".ql-editor").press_sequentially(TEXT, delay=20)

        marks = editor.locator("quill-lt-match")
        expect(marks).to_have_text([wrong for wrong, _ in MENDED])
        for wrong, right in reversed(MENDED):  # the plug-in does not move the places of those behind
            mark = editor.locator("quill-lt-match", has_text=wrong)
            assert int(mark.get_attribute("data-offset")) == len(TEXT[: TEXT.index(wrong)].encode("utf-16-le")) // 2
            mark.click()
            editor.locator(".quill-lt-match-popup-action", has_text=right).click()
            expect(mark).to_have_count(0)
        mended = TEXT
        for wrong, right in MENDED:
            mended = mended.replace(wrong, right)
        assert editor.evaluate("globalThis.quill.getText()") == mended + "\n"
