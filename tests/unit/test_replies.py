"""What Redis replies, read into plain values."""

from __future__ import annotations

import json

from worker.mailbox.redis_observer import observed_of


def row(at_s: float, **more: int) -> bytes:
    return json.dumps({"at_s": at_s, "accepted": 10_000, "ended": 10_000, "iterations": {}} | more).encode()


def test_history_of_a_version_that_counted_no_failures_is_left_out() -> None:
    rows = [
        row(1.0, done=1, failed=0),
        row(2.0),
        row(3.0, done=9_000, failed=1_000),
        row(4.0, done=9_010, failed=1_000),
    ]

    observed = observed_of([rows, [], [], [], 1, 0, 0, 0, b"0", b"0", 0, 0, 0, 0, b"noeviction", [], b"", 0])

    assert [moment.at_s for moment in (*observed.history, observed.now)] == [3.0, 4.0]
