"""`miniserve correct` as a process: one sentence, and the filter that keeps lines and order."""

from __future__ import annotations

import json
import select
import shlex
import subprocess

import pytest

from ops.run import processes
from tests.pace import patient


def _correct(*arguments: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [*processes.miniserve_command("correct"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True)


def test_a_sentence_is_traced_below_its_answer_or_in_it() -> None:
    drawn = _correct("--trace", "He goed to school")
    document = json.loads(_correct("--trace", "--json", "He goed to school").stdout)

    assert drawn.stdout.decode().startswith("He went to school\nThe past tense")
    assert [stage["name"] for stage in document["trace"]["stages"]] == [
        "received", "queue", "prefill", "decode", "publish", "conclude",
    ]  # fmt: skip
    assert all(
        f"\n{'  ' * ('sentence' in stage)}{stage['name']}" in drawn.stdout.decode()
        for stage in document["trace"]["stages"]
    )


def test_the_filter_prints_exactly_one_line_for_each_whatever_it_is() -> None:
    lines = [
        b"He goed to school",
        b"",
        b"She went home.\r",
        b"\xff\xfe\x00",
        b"word " * 10_000,
        b"\xed\xa0\x80",
        b"She go",
    ]

    done = _correct("-", stdin=b"\n".join(lines))

    good, blank, with_return, *others, last = done.stdout.decode().removesuffix("\n").split("\n")
    assert (done.returncode, blank) == (0, ""), "a blank line parts two paragraphs"
    assert [line.partition("\t")[0] for line in (good, with_return, last)] == [
        "He went to school",
        "She went home.",
        "She goes",
    ]
    slugs = [json.loads(line)["type"].rsplit(":", 1)[-1] for line in others]
    assert slugs == ["invalid-request", "sentence-too-long", "invalid-request"]


def test_a_person_who_types_gets_each_answer_at_once() -> None:
    command = processes.miniserve_command("correct", "-")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as typing:
        for sentence in (b"He goed to school\n", b"She went home.\n"):
            typing.stdin.write(sentence)
            typing.stdin.flush()
            assert select.select([typing.stdout], [], [], patient(30))[0]
            assert typing.stdout.readline()
        typing.stdin.close()
        assert typing.wait() == 0


HE = "'He goed home'"


@pytest.mark.parametrize(
    "arguments",
    ["''", "$(printf '\\377\\376')", f"{HE} >/dev/full", f"{HE} >&-", "- >/dev/full", "- >&-", "- <&-"],
)
def test_what_cannot_be_read_or_written_is_one_line_and_status_1(arguments: str) -> None:
    command = f"{shlex.join(processes.miniserve_command('correct'))} {arguments}"

    done = subprocess.run(["/bin/sh", "-c", command], input=b"He went home.\n" * 3, capture_output=True)

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, b"", 1), done.stderr


def test_a_reader_that_leaves_early_ends_it_quietly() -> None:
    command = processes.miniserve_command("correct", "-")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as filtering:
        filtering.stdout.close()
        _, complaint = filtering.communicate(b"He went home.\n" * 500)

    assert b"Traceback" not in complaint
