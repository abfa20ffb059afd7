"""What a log line may hold: not what a user wrote, not even in a traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from api.telemetry.line_writer import STDERR
from ops.run import logs
from scheduler.settings import Settings

MARKER = "Zebras goed"


@pytest.fixture(autouse=True)
def logs_of_other_tests() -> Iterator[None]:
    """Leave the configuration as it was: it belongs to the process, which goes on with other tests."""
    before = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:], level = before
    logging.root.setLevel(level)


def _fail(sentence: str) -> None:
    raise ValueError("no numbers here")


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_traceback_shows_no_values_of_variables(log_format: str, capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure(Settings(log_format=log_format), "api")
    try:
        _fail(MARKER.upper())
    except ValueError:
        logging.getLogger("test").exception("failed")

    STDERR.drain(5.0)
    told = capfd.readouterr().err
    assert "ValueError" in told and MARKER.upper() not in told


def test_a_line_holds_its_facts_and_none_of_them_can_look_like_another(capfd: pytest.CaptureFixture[str]) -> None:
    facts = {"num": 3, "text": "a b", "forged": "x\n[error] y z=1"}

    for log_format in ("console", "json"):
        logs.configure(Settings(log_format=log_format), "worker")
        logging.getLogger("test").warning("%d of them", 7, extra=facts)
        STDERR.drain(5.0)

    console, document = capfd.readouterr().err.splitlines()
    assert console.split(" ", 1)[1] == (
        r"""[warning  ] 7 of them                      num=3 text="a b" forged="x\n[error] y z=1" process=worker"""
    )
    line = json.loads(document)
    assert line.pop("timestamp").endswith("Z")
    assert line == {**facts, "event": "7 of them", "level": "warning", "process": "worker"}
