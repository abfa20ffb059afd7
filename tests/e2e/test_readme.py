"""The examples of the README and of the reference give what these pages say."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

from ops.run import processes
from tests.running_system import RunningSystem

FEWEST_RIGHT = 32  # of the 35: the model is right often, not always
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


def _block(language: str, holding: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if holding in block)


def test_the_curl_line_gives_the_answer_shown_below_it(system: RunningSystem) -> None:
    curl = _block("sh", "curl").strip().replace("http://127.0.0.1:8000", system.url)

    done = subprocess.run(shlex.split(curl), capture_output=True, text=True, check=True)

    shown, answer = json.loads(_block("json", "corrected")), json.loads(done.stdout)
    assert len(shown.pop("request_id")) == len(answer.pop("request_id"))
    assert answer == shown


def test_the_command_prints_what_the_readme_shows() -> None:
    line, *shown = _block("console", "miniserve correct").splitlines()
    _, _, *arguments = shlex.split(line)

    done = subprocess.run([*processes.miniserve_command(), *arguments], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == shown


def test_the_examples_of_the_reasons_come_out_as_the_table_says() -> None:
    examples = [
        (reason, example) for reason, example in re.findall(r"^\| `(\w+)` \| [A-Z_]+ \| (.+) \|$", REFERENCE, re.M)
    ]
    wrong = [re.sub(r"\*(.+?)\* -> \*.+?\*", r"\1", example) for _, example in examples]
    wanted = [(re.sub(r"\*.+?\* -> \*(.+?)\*", r"\1", example), [reason]) for reason, example in examples]

    done = subprocess.run(
        processes.miniserve_command("correct", "--json", "-"),
        input="\n".join(wrong), capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    given = [(answer["corrected"], [edit["reason"] for edit in answer["edits"]]) for answer in answers]
    misses = [(text, got) for text, got, want in zip(wrong, given, wanted, strict=True) if got != want]
    assert len(examples) == 35
    assert len(examples) - len(misses) >= FEWEST_RIGHT, misses
