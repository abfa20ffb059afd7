"""LanguageTool's HTTP API, used by a client that others wrote for it, and by a page."""

from __future__ import annotations

from collections.abc import Iterator

import language_tool_python
import pytest
from language_tool_python.exceptions import LanguageToolError
from playwright.sync_api import Browser

from tests.running_system import post_sentence
from tests.system.conftest import KeyedSite

WRONG = (
    "He goed to school.", "She has writed it.", "I seen him yesterday.", "He stoped the car.", "She is writeing.",
    "She watchs TV.", "She go home.", "They goes home.", "We was late.", "He didn\u2019t went.",
)  # fmt: skip
FRAMES = (
    "\U0001f600 {}",
    "{} \U0001f44d\U0001f3fd",
    "\u201cWell,\u201d he said. {}",
    "It\u2019s \U0001f469\u200d\U0001f3eb\u2019s caf\u00e9. {} \U0001f680",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 {}\n\U0001d4d7 \u2018{}\u2019",
)
SENTENCES = [frame.format(wrong, wrong) for frame in FRAMES for wrong in WRONG]
TEXT = "\U0001f600 He goed home & late + 5%25. \u201cWe was 100% tired\u201d."
MENDED = [("goed", "went"), ("was", "were")]
OF_A_PAGE = """async ([url, key, text]) => {
  const body = new URLSearchParams({ text, language: "en-US", apiKey: key });
  const found = await (await fetch(`${url}/v2/check`, { method: "POST", body })).json();
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify({ sentence: text }) };
  const answer = await (await fetch(`${url}/correct`, request)).json();
  const places = found.matches.map(({ offset, length, replacements: [first] }) =>
    [text.slice(offset, offset + length), first.value]);
  return [places, answer.corrected];
}"""


@pytest.fixture(scope="module")
def tool(site: str) -> Iterator[language_tool_python.LanguageTool]:
    with language_tool_python.LanguageTool("en-US", remote_server=site) as tool:
        yield tool


def corrected(site: str, text: str) -> str:
    return post_sentence(site, text).body["corrected"]


def test_the_python_client_corrects_fifty_sentences_as_the_service_does(
    site: str, tool: language_tool_python.LanguageTool
) -> None:
    wanted = [corrected(site, text) for text in SENTENCES]

    assert len(SENTENCES) == 50
    assert sum(one != text for one, text in zip(wanted, SENTENCES, strict=True)) >= 45
    assert tool.correct("\n\n".join(SENTENCES * 2)) == "\n\n".join(wanted * 2)
    for text, right in zip(SENTENCES, wanted, strict=True):
        assert tool.correct(text) == right
        for match in tool.check(text):
            units = match.context.encode("utf-16-le")[2 * match.offset_in_context :]
            assert match.replacements and match.sentence in text
            assert units.decode("utf-16-le").startswith(text[match.offset : match.offset + match.error_length])


def test_the_python_client_turns_rules_off_and_shows_the_error_that_it_gets(
    tool: language_tool_python.LanguageTool,
) -> None:
    tool.disabled_rules = {"irregular_past"}
    try:
        assert tool.check("He goed to school.") == []
    finally:
        tool.disabled_rules = set()
    with pytest.raises(LanguageToolError, match="Error: The body has .* bytes"):
        tool.check("x" * 300_000)


def test_a_page_of_another_origin_asks_with_its_key(browser: Browser, keyed_site: KeyedSite) -> None:
    page = browser.new_page()
    page.goto(keyed_site.editor)

    places, answer = page.evaluate(OF_A_PAGE, [keyed_site.url, keyed_site.key, TEXT])

    page.close()
    assert [tuple(place) for place in places] == MENDED
    assert answer == TEXT.replace("goed", "went").replace("was", "were")
