"""What crosses the queue is read back as it was, and nothing else is accepted."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import pytest
from pydantic_core import to_json

from scheduler.messages import Completion, CorrectionRequest, FinishReason, Progress, Timings, WireError
from worker.queue import formats
from worker.queue.admission import retry_after_s
from worker.queue.protocol import FUNCTION_NAME, MAX_DATA_BYTES

REQUEST = CorrectionRequest("id1", (70, 2), (1, 0), 32, "abcd")
COMPLETION = Completion("id1", FinishReason.ERROR, (5, 1), Timings(0.5, 0.25, 0.125), error="<no>")


def test_a_request_is_read_back_plain_and_compressed() -> None:
    encoded = formats.encode_request(REQUEST)

    assert formats.decode_request(encoded, "id1") == REQUEST
    assert formats.decode_request(zlib.compress(encoded), "id1") == REQUEST


@pytest.mark.parametrize(
    "news",
    [COMPLETION, replace(COMPLETION, finish_reason=FinishReason.LENGTH, error=None), Progress("id1", (5, 1))],
)
def test_an_answer_and_the_progress_to_it_are_read_back(news: Completion | Progress) -> None:
    encode = formats.encode_progress if isinstance(news, Progress) else formats.encode_completion

    assert formats.decode_news(encode(news)) == news


def data_of(wire: Any, function: str = FUNCTION_NAME) -> bytes:
    return to_json([function, None, [wire], {}])


@pytest.mark.parametrize(
    "raw",
    [
        *(
            data_of(REQUEST.to_wire() | change)
            for change in (
                {"version": 4}, {"version": 2}, {"version": None}, {"version": "3"}, {"request_id": "id2"},
                {"prompt": "x"}, {"prompt": [70]}, {"words": None}, {"prompt": "QUI!"}, {"prompt": "QUJD"},
            )
        ),
        *map(data_of, ([], None, "text", {})),
        data_of(REQUEST.to_wire(), "os.system"), b"", b"[]", b"[1", b"no zlib", b"[" + b" " * MAX_DATA_BYTES,
        zlib.compress(b" " * 2 * MAX_DATA_BYTES),
    ],
)  # fmt: skip
def test_a_job_that_is_not_ours_is_refused(raw: bytes) -> None:
    with pytest.raises(WireError):
        formats.decode_request(raw, "id1")


@pytest.mark.parametrize("payload", [b"", b"!", b"bm8=", b"e30=", b"MQ==", b"W10=", b"eyJmaW5pc2hfcmVhc29uIjoxfQ=="])
def test_a_payload_that_is_no_answer_is_a_wire_error(payload: bytes) -> None:
    with pytest.raises(WireError):
        formats.decode_news(payload)


@pytest.mark.parametrize(
    ("backlog_tokens", "tokens_per_s", "earliest_s", "latest_s"),
    [(1000, 0, 2, 3), (10, 1000, 1, 2), (4500, 1000, 5, 7), (10**9, 1, 60, 75)],
)
def test_a_refused_client_is_told_the_time_of_the_backlog_and_up_to_a_quarter_more(
    backlog_tokens: int, tokens_per_s: float, earliest_s: int, latest_s: int
) -> None:
    told = {retry_after_s(backlog_tokens, tokens_per_s) for _ in range(2000)}

    assert (min(told), max(told)) == (earliest_s, latest_s)
