"""Between two pauses a request does a bounded amount of work, however long what it sends or asks for.

Counted, not timed: lines of Python that run.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.loop_holds import BODY_BYTES, MOST_LINES, REQUESTS, Work, run, site

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


@pytest.fixture(scope="module")
def work() -> Work:
    return Work("/api/")


@pytest.fixture(scope="module")
def app(work: Work) -> Any:
    return site(work.pause)


@pytest.mark.parametrize("name", sorted(REQUESTS.keys() - PREEMPTED))
def test_between_two_pauses_any_request_does_a_bounded_amount_of_work(name: str, app: Any, work: Work) -> None:
    builder = REQUESTS[name](BODY_BYTES if name in LONG else SHORT_BYTES)

    with work.counted():
        status = run(app, builder)

    assert status[:3] == REFUSED.get(name, "200")
    assert work.num_pauses > 2 or name in REFUSED  # two are the wait for the answers, and the end
    assert 0 < work.most_lines <= MOST_LINES
