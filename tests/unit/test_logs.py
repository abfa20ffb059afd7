"""What a log line may hold: not what a user wrote, not even in a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

from api.telemetry.line_writer import STDERR
from ops.run import logs
from scheduler.settings import Settings

MARKER = "Zebras goed"


@pytest.fixture(autouse=True)
def logs_of_other_tests() -> Iterator[None]:
    """Leave the configuration as it was: it belongs to the process, which goes on with other tests."""
    before = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
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
        structlog.get_logger("test").exception("failed")

    STDERR.flush(5.0)
    told = capfd.readouterr().err
    assert "ValueError" in told and MARKER.upper() not in told
