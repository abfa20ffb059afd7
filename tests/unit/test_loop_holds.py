"""Between two pauses a request does a bounded amount of work, however long what it sends or asks for.

Counted, not timed: lines of Python that run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from tests.loop_holds import BODY_BYTES, REQUESTS, run, site

MOST_LINES = 40_000  # of Python in a row: some three milliseconds
LONG = {  # of which a short one would show nothing
    "sentences",
    "sentences, as a stream",
    "a batch of rare words",
}
# Read by Python in a thread, which the interpreter interrupts, and by calls of some milliseconds.
PREEMPTED = {"an editor's parts", "an editor's empty parts", "an editor's emoji", "an editor's form feeds"}
SHORT_BYTES = BODY_BYTES // 32
# These statuses are not 200, and the refusal may come before the first pause.
REFUSED = {
    "marks": "422", "blanks": "422", "escapes": "422", "objects": "422", "lists of a batch": "422",
}  # fmt: skip


class Work:
    """Counts since the last pause, and keeps the most of each."""

    def __init__(self) -> None:
        self.lines = self.most_lines = self.num_pauses = 0

    def pause(self) -> None:
        self.most_lines = max(self.most_lines, self.lines)
        self.lines = 0
        self.num_pauses += 1

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if "/api/" not in frame.f_code.co_filename:
            return None
        self.lines += event == "line"
        return self.trace


@contextmanager
def counted(work: Work) -> Iterator[None]:
    work.__init__()
    before = sys.gettrace()
    sys.settrace(work.trace)
    try:
        yield
    finally:
        sys.settrace(before)
        work.pause()


@pytest.fixture(scope="module")
def work() -> Work:
    return Work()


@pytest.fixture(scope="module")
def app(work: Work) -> Any:
    return site(work.pause)


@pytest.mark.parametrize("name", sorted(REQUESTS.keys() - PREEMPTED))
def test_between_two_pauses_any_request_does_a_bounded_amount_of_work(name: str, app: Any, work: Work) -> None:
    builder = REQUESTS[name](BODY_BYTES if name in LONG else SHORT_BYTES)

    with counted(work):
        status = run(app, builder)

    assert status[:3] == REFUSED.get(name, "200")
    assert work.num_pauses > 2 or name in REFUSED  # two are the wait for the answers, and the end
    assert 0 < work.most_lines <= MOST_LINES
