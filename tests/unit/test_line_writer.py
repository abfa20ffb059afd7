"""Lines for a reader who may stall or leave: nobody who has a line waits, and what is lost is counted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from api.telemetry.line_writer import MOST_LINES, LineWriter
from tests.mailbox_house import eventually

LINE = "x" * 99 + "\n"
Pipe = tuple[int, LineWriter]


@pytest.fixture
def reading_and_writer() -> Iterator[Pipe]:
    """The end of a pipe, and who writes to the other."""
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    yield reading, writer
    with suppress(OSError):  # a test may have closed it
        os.close(reading)
    eventually(lambda: not writer.has_lines)  # or a thread writes its last lines to the next file of that number
    os.close(writing)


def test_lines_come_in_their_order_and_those_made_later_among_them(reading_and_writer: Pipe) -> None:
    reading, writer = reading_and_writer

    writer.put("one\n")
    writer.put(lambda: "two\n")
    print("three, that is no line of the log", file=writer, flush=True)
    writer.drain(5.0)

    assert os.read(reading, 100) == b"one\ntwo\nthree, that is no line of the log\n"
    assert writer.fileno() == writer.descriptor and not writer.isatty()


def test_a_reader_who_stalls_costs_lines_and_holds_nobody_up(
    reading_and_writer: Pipe, caplog: pytest.LogCaptureFixture
) -> None:
    reading, writer = reading_and_writer
    for _ in range(3 * MOST_LINES):
        writer.put(LINE)
    num_dropped = writer.num_dropped

    kept = len(LINE) * (3 * MOST_LINES - num_dropped)
    with open(reading, "rb", closefd=False) as pipe:
        assert len(pipe.read(kept)) == kept
    eventually(lambda: caplog.records)

    assert MOST_LINES < num_dropped <= 2 * MOST_LINES
    assert [(one.levelname, one.num_dropped) for one in caplog.records] == [("WARNING", num_dropped)]


def test_a_reader_who_has_left_is_no_fault_of_whoever_writes(reading_and_writer: Pipe) -> None:
    reading, writer = reading_and_writer
    os.close(reading)

    writer.put(LINE)
    writer.put(LINE)

    eventually(lambda: writer.num_dropped == 2)


def test_a_child_process_writes_its_own_lines_and_not_its_parents() -> None:
    script = (
        "import os\n"
        "from api.telemetry.line_writer import LineWriter\n"
        "writer = LineWriter(1)\n"
        "writer.put('of both once\\n')\n"
        "writer.put('of the parent\\n')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    writer.put('of the child\\n'); writer.drain(5); os._exit(0)\n"
        "os.waitpid(child, 0); writer.drain(5)\n"
    )

    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert sorted(out.splitlines()) == ["of both once", "of the child", "of the parent"]


def test_a_line_that_cannot_be_made_ends_nothing(reading_and_writer: Pipe) -> None:
    reading, writer = reading_and_writer

    writer.put(lambda: str(1 / 0))
    writer.put("the next\n")
    writer.drain(5.0)

    assert os.read(reading, 200) == b"a line of the log could not be made: ZeroDivisionError\nthe next\n"
    with pytest.raises(TypeError):
        writer.write(b"bytes")
