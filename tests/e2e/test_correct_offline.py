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


@pytest.mark.parametrize("sentence", ["", b"\xff\xfe"])
def test_a_sentence_it_cannot_take_is_one_line_on_stderr_and_status_1(sentence: str | bytes) -> None:
    done = _correct(sentence)

    assert done.returncode == 1
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1


def test_the_filter_prints_exactly_one_line_for_each_whatever_it_is() -> None:
    lines = [
        b"He goed to school",
        b"",
        b"She went home.\r",
        b"\xff\xfe\x00",
        b"word " * 10_000,
        "\u201cThey was here\u201d \U0001f600".encode(),
        b"\xed\xa0\x80",
        b"x" * 100_000,
        b"She go home",
    ]

    done = _correct("-", stdin=b"\n".join(lines))

    printed = done.stdout.decode().split("\n")
    assert done.returncode == 0
    assert printed.pop() == ""
    assert len(printed) == len(lines)
    assert printed[0].startswith("He went to school\t")
    assert printed[2].startswith("She went home.\t")
    assert printed[1] == "", "a blank line parts two paragraphs"
    slugs = {number: json.loads(printed[number])["type"].rsplit(":", 1)[-1] for number in (3, 4, 6, 7)}
    assert slugs == {
        3: "invalid-request",
        4: "sentence-too-long",
        6: "invalid-request",
        7: "sentence-too-long",
    }


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


@pytest.mark.parametrize("arguments", ["'He goed home'", "-"])
@pytest.mark.parametrize("broken", [">/dev/full", ">&-"])
def test_an_output_that_cannot_be_written_is_one_line_and_status_1(arguments: str, broken: str) -> None:
    done = _in_shell(arguments, broken)

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr


def test_a_closed_input_is_one_line_and_status_1() -> None:
    done = _in_shell("-", "<&-")

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr


def _in_shell(arguments: str, redirection: str) -> subprocess.CompletedProcess[bytes]:
    command = f"{shlex.join(processes.miniserve_command('correct'))} {arguments} {redirection}"
    return subprocess.run(["/bin/sh", "-c", command], input=b"He went home.\n" * 3, capture_output=True)


def test_a_reader_that_leaves_early_ends_it_quietly() -> None:
    command = processes.miniserve_command("correct", "-")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as filtering:
        filtering.stdout.close()
        _, complaint = filtering.communicate(b"He went home.\n" * 500)

    assert b"Traceback" not in complaint
