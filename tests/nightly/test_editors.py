"""Programs that others wrote for LanguageTool, installed and used as their users do.

tests/unit/test_languagetool_forms.py has what they send. This shows that they still do, and what they make of the
answers.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests import system_tools
from tests.pace import patient
from tests.running_system import child
from tests.system.conftest import KeyedSite

QUILL = "quill@1.3.7", "quill-languagetool@1.0.7"
FOR_LIBREOFFICE = {
    "He goed home & slept 100% + 5%25.": [["goed", "went"]],
    "The caf\u00e9 are full. \U0001f600 She have writed it.": [["are", "is"], ["have", "has"], ["writed", "written"]],
    "They went home.": [],
}
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Linguistic/GrammarChecking/LanguageTool">
<prop oor:name="BaseURL" oor:op="fuse"><value>{url}/v2</value></prop>
<prop oor:name="IsEnabled" oor:op="fuse"><value>true</value></prop></item>
</oor:items>"""
CHECK_IN_LIBREOFFICE = """
import json, sys, time, uno
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import Locale
local = uno.getComponentContext()
resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
context = None
while context is None:
    try:
        context = resolver.resolve(f"uno:pipe,name={sys.argv[1]};urp;StarOffice.ComponentContext")
    except NoConnectException:
        time.sleep(0.1)
checker = context.ServiceManager.createInstanceWithContext("org.openoffice.lingu.LanguageToolGrammarChecker", context)
for text in sys.argv[2:]:
    errors = checker.doProofreading("1", text, Locale("en", "US", ""), 0, len(text), ()).aErrors
    print(json.dumps([(one.nErrorStart, one.nErrorLength, one.aSuggestions[0], one.aShortComment) for one in errors]))
"""
START_QUILL = """async ([plugin, url, key]) => {
  const module = URL.createObjectURL(new Blob([plugin], { type: "text/javascript" }));
  globalThis.process = { env: { NODE_ENV: "production" } };
  (await import(module)).default(Quill);
  const languageTool = { server: url, language: "en-US", cooldownTime: 50, apiOptions: { apiKey: key } };
  globalThis.quill = new Quill("#box", { modules: { languageTool } });
}"""
TYPED = "\U0001f600 He goed home. \u201cWe was late.\u201d\n\n\U0001f680 She didn\u2019t knew it."
MENDED = {"goed": "went", "was": "were", "knew": "know"}


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm")
    options = "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps", "--prefix", folder
    subprocess.run([system_tools.find("npm"), "install", *options, *QUILL], check=True)
    return folder / "node_modules"


def test_quill_marks_the_mistakes_in_their_places_and_mends_them(
    browser: Browser, keyed_site: KeyedSite, node_modules: Path
) -> None:
    """On a page of another origin, with an API key."""
    plugin = (node_modules / "quill-languagetool" / "dist" / "index.es.js").read_text()
    page = browser.new_page()
    page.goto(keyed_site.editor)
    page.set_content('<!doctype html><div id="box"></div>')
    page.add_script_tag(path=node_modules / "quill" / "dist" / "quill.js")
    page.evaluate(START_QUILL, [plugin, keyed_site.url, keyed_site.key])
    # As somebody types: what changes within 0.1 s of an answer, the plug-in takes for its own marks.
    page.locator(".ql-editor").press_sequentially(TYPED, delay=20)

    marks = page.locator("quill-lt-match")
    expect(marks).to_have_text([*MENDED])
    for wrong, right in reversed(MENDED.items()):  # the plug-in does not move the places of those behind
        mark = page.locator("quill-lt-match", has_text=wrong)
        assert int(mark.get_attribute("data-offset")) == len(TYPED[: TYPED.index(wrong)].encode("utf-16-le")) // 2
        mark.click()
        page.locator(".quill-lt-match-popup-action", has_text=right).click()
        expect(mark).to_have_count(0)
    shown = page.evaluate("globalThis.quill.getText()").replace("\xa0", " ")  # some of Chromium's blanks, as one types
    assert shown == re.sub(r"\w+", lambda word: MENDED.get(word[0], word[0]), TYPED) + "\n"
    page.close()


def test_libreoffice_finds_the_mistakes_in_their_places(site: str, tmp_path: Path) -> None:
    profile, pipe = tmp_path / "profile", f"miniserve-{os.getpid()}"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(PROFILE.format(url=site))
    options = f"-env:UserInstallation={profile.as_uri()}", "--headless", f"--accept=pipe,name={pipe};urp;"

    with child(system_tools.find("soffice"), *options):
        command = ["/usr/bin/python3", "-c", CHECK_IN_LIBREOFFICE, pipe, *FOR_LIBREOFFICE]
        checked = subprocess.run(command, capture_output=True, text=True, timeout=patient(120))

    lines = checked.stdout.splitlines()

    for line, (text, wanted) in zip(lines, FOR_LIBREOFFICE.items(), strict=True):
        units, marks = text.encode("utf-16-le"), json.loads(line)
        words = [units[2 * start : 2 * (start + length)].decode("utf-16-le") for start, length, *_ in marks]
        assert [[word, right] for word, (_, _, right, _) in zip(words, marks, strict=True)] == wanted
        assert all(why for *_, why in marks)
