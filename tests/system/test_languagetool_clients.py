"""LanguageTool's HTTP API, used by clients that others wrote for LanguageTool, and by the requests of some more."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import language_tool_python
import pytest
from language_tool_python.exceptions import LanguageToolError

from tests import system_tools
from tests.pace import patient
from tests.running_system import RunningSystem, post_sentence, send
from tests.tried_clients import tried

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
OLD = Path(sys.prefix, "old-clients", "bin")  # an environment of their own, as older releases need
NPM = Path(sys.prefix, "npm", "node_modules", ".bin")
TEXT = "He goed home & late. \u201cWe was 100% tired\u201d."
OLD_CALL = """
import sys, language_tool_python
tool = language_tool_python.LanguageTool("en-US", remote_server=sys.argv[1])
sys.stdout.reconfigure(encoding="utf-8")
print(tool.correct(sys.argv[2]))
"""
FORM = urlencode({"language": "en-US", "text": TEXT})
REQUESTS = {
    "LTeX": ("POST", "", FORM, "application/json"),
    "languagetool-rust": ("POST", f"?{FORM}", "", ""),
    "Lokalize": ("POST", "", f"text={TEXT}&language=en-US", "application/x-www-form-urlencoded"),
    "requests": ("POST", "", f"{FORM}&enabledOnly=False&level=picky", "application/x-www-form-urlencoded"),
    "curl": ("GET", f"?{FORM}", "", ""),
}
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

    with tried("language_tool_python"):
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


def run(*command: object, folder: Path | None = None) -> str:
    done = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=patient(120)
    )
    assert done.stdout, done.stderr
    return done.stdout


def test_an_older_python_client_sends_texts_in_the_query(system: RunningSystem) -> None:
    with tried("language_tool_python 3.3.1"):
        found = run(OLD / "python", "-c", OLD_CALL, system.url, TEXT)

        assert found.strip() == corrected(system, TEXT)


def test_pylanguagetool_shows_each_mistake_with_its_correction(system: RunningSystem, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    with tried("pylanguagetool"):
        found = run(OLD / "pylanguagetool", "--api-url", f"{system.url}/v2/", "-l", "en-US", tmp_path / "text.txt")

        assert "He went home" in found and "We were 100%" in found and "miniserve" in found


def test_gramma_names_each_word_and_its_correction(system: RunningSystem, tmp_path: Path) -> None:
    (tmp_path / ".gramma.json").write_text(json.dumps({"api_url": f"{system.url}/v2/check", "language": "en-US"}))
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    with tried("gramma"):
        found = run(NPM / "gramma", "check", "-p", "-n", "text.txt", folder=tmp_path)

        assert re.findall(r"Word: (.*)", found) == ["goed", "was"]
        assert re.findall(r"Suggested fix: 1\) (\w+)", found) == ["went", "were"]


def test_emacs_gets_an_answer_although_it_has_closed_its_end(system: RunningSystem) -> None:
    with tried("Emacs", "emacs"):
        request = Path(__file__).parents[1] / "langtool_request.el"
        text = " ".join([TEXT] * 200)  # for longer than a connection goes unlooked at
        found = run(system_tools.find("emacs"), "--batch", "-Q", "-l", request, system.url, text)

        lines = found.splitlines()
        assert lines[:2] == ["3 4 went", f"{TEXT.index('was')} 3 were"] and len(lines) == 400


@pytest.mark.parametrize("client", REQUESTS)
def test_what_other_clients_send_is_answered(system: RunningSystem, client: str) -> None:
    method, query, body, kind = REQUESTS[client]
    with tried(f"request of {client}"):
        reply = send(system.url, method, f"/v2/check{query}", body.encode(), {"Content-Type": kind} if kind else {})

        assert [match["replacements"][0]["value"] for match in reply.body["matches"]] == ["went", "were"]
        assert TEXT[reply.body["matches"][1]["offset"] :].startswith("was")
