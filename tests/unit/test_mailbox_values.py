"""The mailbox's arithmetic and formats, without any mailbox."""

from __future__ import annotations

import re
import zlib
from importlib import resources

import pytest

from scheduler.messages import Completion, FinishReason, Timings, WireError
from tests.mailbox_house import a_request
from worker.queue import formats
from worker.queue.admission import retry_after_s
from worker.queue.connection import SCRIPTS, script_sources


@pytest.mark.parametrize(
    ("backlog_tokens", "tokens_per_s", "earliest_s", "latest_s"),
    [(1000, 0, 2, 3), (10, 1000, 1, 2), (4500, 1000, 5, 7), (10**9, 1, 60, 75)],
)
def test_a_refused_client_is_told_the_time_of_the_backlog_and_up_to_a_quarter_more(
    backlog_tokens: int, tokens_per_s: float, earliest_s: int, latest_s: int
) -> None:
    told = {retry_after_s(backlog_tokens, tokens_per_s) for _ in range(2000)}

    assert (min(told), max(told)) == (earliest_s, latest_s)


def test_a_request_is_read_back_plain_and_compressed() -> None:
    request = a_request("a")
    encoded = formats.encode_request(request)

    assert formats.decode_request(encoded, "a") == request
    assert formats.decode_request(zlib.compress(encoded), "a") == request


def test_a_completion_is_read_back_with_its_timings() -> None:
    completion = Completion("a", FinishReason.ERROR, (1, 2), Timings(0.5, 0.25, 0.125), error="<no>")

    assert formats.decode_news(formats.encode_completion(completion)) == completion


@pytest.mark.parametrize("payload", [b"", b"!", b"bm8=", b"e30=", b"MQ=="])
def test_a_payload_that_is_no_completion_is_a_wire_error(payload: bytes) -> None:
    with pytest.raises(WireError):
        formats.decode_news(payload)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_every_part_in_front_of_it_whose_functions_it_calls(name: str) -> None:
    parts = {part for each in SCRIPTS.values() for part in re.findall(r"\w+", each)}
    texts = {part: (resources.files("worker.queue") / "lua" / f"{part}.lua").read_text() for part in parts}
    of_part = {part: re.findall(r"^local function (\w+)", text, re.MULTILINE) for part, text in texts.items()}

    called = set(re.findall(r"\b(\w+)\(", re.sub(r"--.*", "", script_sources()[name])))

    own = re.findall(r"\w+", SCRIPTS[name])
    missing = {part for part in parts if part not in own and called.intersection(of_part[part])}
    assert missing == set()
