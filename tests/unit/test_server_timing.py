"""Where a load test says that the time went."""

from __future__ import annotations

import re

import pytest

from ops.load import report
from ops.load.client import Reply
from ops.load.measurements import Measurements
from ops.load.server_timing import breakdown


def header(queue: float, prefill: float, decode: float, total: float) -> bytes:
    return f"queue;dur={queue}, prefill;dur={prefill}, decode;dur={decode}, total;dur={total}".encode()


def test_the_slowest_tenth_stands_beside_all():
    headers = [header(1, 2, 3, 8)] * 9 + [header(11, 12, 33, 58)]

    found = breakdown(headers, [0.010] * 9 + [0.060])

    assert found["all"] == {"queue": 2.0, "prefill": 3.0, "decode": 6.0, "total": 13.0, "latency": 15.0}
    assert found["slowest tenth"] == {"queue": 11.0, "prefill": 12.0, "decode": 33.0, "total": 58.0, "latency": 60.0}


@pytest.mark.parametrize("headers", [[], [header(1, 2, 3, 8), b""]])
def test_a_server_that_does_not_tell_has_no_breakdown(headers: list[bytes]):
    assert breakdown(headers, [0.01] * len(headers)) is None


def test_the_table_shows_it_with_what_is_neither_queue_nor_model():
    measurements = Measurements()
    for _ in range(3):
        measurements.add_answer(Reply(200, b"{}", {b"server-timing": header(1, 2, 3, 8)}), 0.010)
    measurements.add_answer(Reply(503, b"{}"), 0.001)

    text = report.table(measurements.summary(None))

    assert re.search("mean, all +10.0 ms: queue 1.0, prefill 2.0, decode 3.0, the rest 4.0", text)
