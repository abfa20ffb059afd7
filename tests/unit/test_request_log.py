"""The line that is logged of each request: its form, its cost to those who do not read it, and what is not in it."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace
from typing import Any

import pytest

from api.service.exchange import Exchange
from api.telemetry import recorder
from api.telemetry.line_writer import Line
from api.telemetry.recorder import RequestRecorder
from ops.run.logs import _Formatter
from scheduler.messages import Timings
from scheduler.settings import Settings

TIMINGS = Timings(0.00125, 0.0025, 0.00975)
TOOK_S = 0.01404
EXCHANGE = Exchange(
    "abc", route="/correct", status=200, timings=TIMINGS, prompt_tokens=11, output_tokens=7, is_read=True
)


@pytest.fixture(autouse=True)
def _at_a_known_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder.time, "time", lambda: 1_700_000_000.25)


def logged(log_format: str = "json", log_level: str = "info", **changes: object) -> list[str]:
    """Of a correction, or of what is changed of it."""
    lines: list[Line] = []
    settings = Settings(log_format=log_format, log_level=log_level)
    RequestRecorder(settings, lines.append).log(replace(EXCHANGE, **changes), "POST", TOOK_S)
    return [line() for line in lines]


def test_a_line_of_json_tells_ids_tokens_times_and_outcome() -> None:
    (text,) = logged()

    assert json.loads(text) == {
        "event": "request", "level": "info", "process": "api", "timestamp": "2023-11-14T22:13:20.250000Z",
        "request_id": "abc", "route": "/correct", "status": 200, "outcome": "answered", "prompt_tokens": 11,
        "output_tokens": 7, "queue_ms": 1.2, "prefill_ms": 2.5, "decode_ms": 9.8, "total_ms": 14.0,
    }  # fmt: skip


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_correlation_id_cannot_end_the_line_or_forge_a_field(log_format: str) -> None:
    (text,) = logged(log_format, correlation_id='x", "status": 500, "y": "\u2028')

    assert text.count("\n") == 1 and len(text.splitlines()) == 1
    if log_format == "json":
        assert json.loads(text)["correlation_id"].startswith('x", "status": 500')
        assert json.loads(text)["status"] == 200


@pytest.mark.parametrize(
    ("level", "changes", "num_lines"),
    [("debug", {}, 1), ("warning", {}, 0), ("error", {}, 0), ("info", {"is_read": False}, 0),
     ("info", {"is_read": False, "status": 400}, 1), ("debug", {"is_read": False}, 1)],
)  # fmt: skip
def test_a_higher_level_turns_lines_off_first_those_of_questions(
    level: str, changes: dict[str, object], num_lines: int
) -> None:
    assert len(logged(log_level=level, **changes)) == num_lines


def test_a_line_of_any_process_holds_its_facts_and_none_of_them_can_look_like_another() -> None:
    facts = {"num": 3, "text": "a b", "forged": "x\n[error] y z=1"}
    record = logging.makeLogRecord({"msg": "%d of them", "args": (7,), "levelname": "WARNING", **facts})

    console, document = (_Formatter("worker", is_json).format(record) for is_json in (False, True))

    assert console.split(" ", 1)[1] == (
        r"""[warning  ] 7 of them                      num=3 text="a b" forged="x\n[error] y z=1" process=worker"""
        "\n"
    )
    line = json.loads(document)
    assert line.pop("timestamp").endswith("Z")
    assert line == {**facts, "event": "7 of them", "level": "warning", "process": "worker"}


@pytest.mark.parametrize("is_json", [False, True])
def test_a_traceback_shows_no_values_of_variables(is_json: bool) -> None:
    def fail(sentence: str) -> None:
        raise ValueError("no numbers here")

    try:
        fail("Zebras goed".upper())
    except ValueError:
        told = _Formatter("api", is_json).format(logging.makeLogRecord({"exc_info": sys.exc_info()}))

    assert "no numbers here" in told and "ZEBRAS" not in told


def test_the_line_keeps_neither_the_answer_nor_the_connection_of_a_request_until_it_is_written() -> None:
    lines: list[Any] = []
    RequestRecorder(Settings(), lines.append).log(EXCHANGE, "POST", TOOK_S)

    assert not any(isinstance(part, Exchange) for line in lines for part in line.args)
