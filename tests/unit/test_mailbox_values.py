"""The mailbox's arithmetic and formats, without any mailbox."""

from __future__ import annotations

import re
import zlib
from importlib import resources

import pytest

from scheduler.messages import Completion, FinishReason, Timings, WireError
from tests.mailbox_house import a_request
from worker.mailbox import formats
from worker.mailbox.admission import retry_after_s
from worker.mailbox.connection import SCRIPTS, script_sources


@pytest.mark.parametrize(
    ("backlog_tokens", "tokens_per_s", "earliest_s", "latest_s"),
    [(1000, 0, 2, 4), (10, 1000, 1, 2), (5000, 1000, 5, 10), (2400, 1000, 3, 4), (10**9, 1, 60, 120)],
)
def test_a_refused_client_is_told_a_time_between_once_and_twice_that_of_the_backlog(
    backlog_tokens: int, tokens_per_s: float, earliest_s: int, latest_s: int
) -> None:
    told = {retry_after_s(backlog_tokens, tokens_per_s) for _ in range(2000)}

    assert told == set(range(earliest_s, latest_s + 1))


@pytest.mark.parametrize("burst", [1.0, 1.9])
def test_those_refused_in_one_burst_find_room_when_they_come_back(burst: float) -> None:
    bound, per_s = 1000, 50.0
    returns = sorted(retry_after_s(bound, per_s) for _ in range(int(burst * bound)))
    waiting, admitted, now = float(bound), 0, 0.0
    for returned in returns:
        waiting = max(0.0, waiting - per_s * (returned - now))
        now = returned
        if waiting + 1 <= bound:
            waiting, admitted = waiting + 1, admitted + 1

    assert admitted >= 0.9 * len(returns)


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
    parts = ("accounts", "recovery", "history")
    texts = {part: (resources.files("worker.mailbox") / "lua" / f"{part}.lua").read_text() for part in parts}
    of_part = {part: re.findall(r"^local function (\w+)", text, re.MULTILINE) for part, text in texts.items()}

    called = set(re.findall(r"\b(\w+)\(", re.sub(r"--.*", "", script_sources()[name])))

    missing = {part for part in parts if part not in SCRIPTS[name].split() and called.intersection(of_part[part])}
    assert missing == set()
