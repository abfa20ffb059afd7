"""The examples of docs/clients.md print what stands below them, and come again as they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import system_tools
from tests.small_server import OK, LastWords, SmallServer, http, small_servers
from tests.system.conftest import KeyedSite

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(sh|python|js)\n(.*?)^```\n+```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ANSWER = OK | {"corrected": "He went to school."}


def command(language: str, code: str) -> list[str]:
    if language == "js":
        return [system_tools.find("node"), "-e", code]
    return [system_tools.find("bash"), "-c", code] if language == "sh" else [sys.executable, "-c", code]


def run(language: str, code: str, url: str, key: str = "") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "MINISERVE_URL": url, "MINISERVE_API_KEY": key}
    return subprocess.run(command(language, code), env=environ, capture_output=True, text=True, timeout=60)


def test_every_example_has_its_output_below_it() -> None:
    languages = [language for language, _, _ in EXAMPLES]

    assert languages == re.findall(r"^```(sh|python|js)$", PAGE, re.MULTILINE)
    assert set(languages) == {"sh", "python", "js"} and len(languages) >= 6


@pytest.mark.parametrize(("language", "code", "output"), EXAMPLES)
def test_an_example_prints_what_stands_below_it(keyed_site: KeyedSite, language: str, code: str, output: str) -> None:
    done = run(language, code, keyed_site.url, keyed_site.key)

    assert (done.stdout, done.returncode) == (output, 0), done.stderr


def with_retries(language: str) -> str:
    """The example that comes again, cut down to one request."""
    code = next(code for name, code, _ in EXAMPLES if name == language and "Idempotency-Key" in code)
    if language == "python":
        return code[: code.index("\nanswer = ")] + 'print(correct("He goed")["corrected"])\n'
    return code[: code.index("\n(async")] + 'correct("He goed").then(({ corrected }) => console.log(corrected));\n'


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_client_comes_again_with_its_key_when_it_is_told_and_when_nobody_answers(language: str) -> None:
    busy = http(503, {"type": "urn:miniserve:problem:queue-full", "detail": "full"}, "Retry-After: 1")
    answers = [busy, None, http(200, ANSWER)]
    with small_servers() as start:
        server: SmallServer = start(lambda number: answers[number - 1])

        done = run(language, with_retries(language), server.url)

        keys = {re.search(rb"(?i)idempotency-key: (\S+)", request)[1] for request in server.received}
        assert (done.stdout, done.returncode) == ("He went to school.\n", 0), done.stderr
        assert server.num_requests == 3 and len(keys) == 1


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_client_that_follows_an_answer_tells_one_that_was_cut_off(language: str) -> None:
    code = next(code for name, code, _ in EXAMPLES if name == language and "follow(" in code)
    code = re.sub(r"(?m)^  (const { corrected, edits }|console\.log\(corrected|await correct).*\n", "", code)
    body = b'event: edit\ndata: {"replacement": "went"}\n\n'
    head = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\n"
    ended = head.replace(b"99", str(len(body)).encode())
    half = body + b"event: done\n"
    for answer in (LastWords(head + body), ended + body, head.replace(b"99", str(len(half)).encode()) + half):
        with small_servers() as start:
            done = run(language, code, start(lambda number, answer=answer: answer).url)

        assert done.returncode != 0 and done.stdout in ("edit went\n", ""), done.stderr
    assert "the answer was cut off" in done.stderr


@pytest.mark.parametrize("language", ["python", "js"])
def test_a_client_does_not_come_again_with_what_is_wrong(language: str) -> None:
    problem = {"type": "urn:miniserve:problem:invalid-request", "detail": "no text"}
    with small_servers() as start:
        server: SmallServer = start(lambda number: http(422, problem))

        done = run(language, with_retries(language), server.url)

        assert done.returncode != 0 and "no text" in done.stderr and server.num_requests == 1


@pytest.mark.parametrize(
    ("language", "text"), [("python", '"He goed home. " * 600'), ("js", '"He goed home. ".repeat(600)')]
)
def test_a_client_sends_a_text_of_more_sentences_than_a_key_allows(
    keyed_site: KeyedSite, language: str, text: str
) -> None:
    done = run(language, with_retries(language).replace('"He goed"', text), keyed_site.url, keyed_site.key)

    assert (done.stdout, done.returncode) == ("He went home. " * 600 + "\n", 0), done.stderr
