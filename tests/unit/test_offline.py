"""Reading lines for the filter: no line lost, split only at newlines, nothing waited for without need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ops.offline import StreamLines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def _read_all(lines: StreamLines) -> list[bytes]:
    found = []
    while not lines.is_over:
        found += lines.take(wait=True)
    return found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\n", [b"a", b""]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\x0bb\x0cc\x85d\n", [b"a\x0bb\x0cc\x85d"]),
        ("a\u2028b\n".encode(), ["a\u2028b".encode()]),
        (b"\n", [b""]),
    ],
)
def test_lines_end_at_newlines_only(pipe: tuple[int, int], written: bytes, expected: list[bytes]) -> None:
    reader, writer = pipe
    os.write(writer, written)
    os.close(writer)

    assert _read_all(StreamLines(reader)) == expected


def test_without_waiting_only_what_is_there_is_taken(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    lines = StreamLines(reader)

    nothing_yet = lines.take(wait=False)
    os.write(writer, b"one\ntwo\nhal")
    two = lines.take(wait=False)
    os.write(writer, b"f\n")
    half = lines.take(wait=True)
    os.close(writer)

    assert (nothing_yet, two, half) == ([], [b"one", b"two"], [b"half"])


def test_a_line_longer_than_one_read_stays_one_line(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    code = f"import os; os.write({writer}, b'x' * 300_000 + b'\\n')"  # from outside: a pipe holds less than this line
    child = subprocess.Popen([sys.executable, "-c", code], pass_fds=[writer])
    os.close(writer)

    assert [len(line) for line in _read_all(StreamLines(reader))] == [300_000]
    assert child.wait(10) == 0
