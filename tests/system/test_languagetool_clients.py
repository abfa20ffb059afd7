"""LanguageTool's HTTP API, used by a client that others wrote for LanguageTool."""

from __future__ import annotations

from collections.abc import Iterator

import language_tool_python
import pytest
from language_tool_python.exceptions import LanguageToolError

from tests.running_system import RunningSystem, post_sentence

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


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as system:
        yield system


@pytest.fixture(scope="module")
def tool(system: RunningSystem) -> Iterator[language_tool_python.LanguageTool]:
    with language_tool_python.LanguageTool("en-US", remote_server=system.url) as tool:
        yield tool


def corrected(system: RunningSystem, text: str) -> str:
    return post_sentence(system.url, text).body["corrected"]


def test_the_python_client_corrects_fifty_sentences_as_the_service_does(
    system: RunningSystem, tool: language_tool_python.LanguageTool
) -> None:
    assert len(SENTENCES) == 50

    found = [tool.correct(text) for text in SENTENCES]

    assert found == [corrected(system, text) for text in SENTENCES]
    assert sum(one != text for one, text in zip(found, SENTENCES, strict=True)) >= 45


def test_the_python_client_finds_each_match_at_its_place(tool: language_tool_python.LanguageTool) -> None:
    for text in SENTENCES:
        for match in tool.check(text):
            assert text[match.offset : match.offset + match.error_length] in text
            assert match.replacements and match.sentence in text
            assert (
                match.context.encode("utf-16-le")[2 * match.offset_in_context :]
                .decode("utf-16-le")
                .startswith(text[match.offset : match.offset + match.error_length])
            )


def test_the_python_client_corrects_a_document_of_many_sentences(
    system: RunningSystem, tool: language_tool_python.LanguageTool
) -> None:
    paragraphs = SENTENCES * 2

    found = tool.correct("\n\n".join(paragraphs))

    assert found == "\n\n".join(corrected(system, text) for text in paragraphs)


def test_the_python_client_turns_rules_off(tool: language_tool_python.LanguageTool) -> None:
    tool.disabled_rules = {"irregular_past"}
    try:
        assert tool.check("He goed to school.") == []
    finally:
        tool.disabled_rules = set()


def test_the_python_client_shows_the_error_that_it_gets(tool: language_tool_python.LanguageTool) -> None:
    with pytest.raises(LanguageToolError, match="Error: The body has .* bytes"):
        tool.check("x" * 300_000)
