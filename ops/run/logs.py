"""Logging of all processes, configured once, in the entry points: one event a line, for people or as JSON.

Libraries only call `logging.getLogger(__name__)`; the facts of an event are its `extra`. No line holds a user's text.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
from datetime import UTC, datetime

from api.telemetry.line_writer import STDERR, STDOUT
from ops.variables import unknown_variables
from scheduler.settings import Settings

_NO_FACTS = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "taskName"}  # of every record


class _Handler(logging.Handler):
    """Gives lines to the thread that writes them: a reader that stalls holds nobody up."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            STDERR.put(self.format(record) + "\n")
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        STDERR.drain()


class _Formatter(logging.Formatter):
    """One line in the form of `RequestLog`. A traceback shows no values of variables: these hold what users wrote."""

    def __init__(self, process: str, is_json: bool) -> None:
        super().__init__()
        self._process, self._is_json = process, is_json

    def format(self, record: logging.LogRecord) -> str:
        event, level = record.getMessage(), record.levelname.lower()
        facts = {name: value for name, value in vars(record).items() if name not in _NO_FACTS}
        facts["process"] = self._process
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        raised = self.formatException(record.exc_info) if record.exc_info else ""
        if self._is_json:
            facts |= {"event": event, "level": level, "timestamp": at} | ({"exception": raised} if raised else {})
            return json.dumps(facts, default=repr)
        words = " ".join([f"{name}={_word(value)}" for name, value in facts.items()])
        return f"{at} [{level:<9}] {event:<30} {words}" + (f"\n{raised}" if raised else "")


def _word(value: object) -> str:
    """A value that is not one word is quoted: none may look like another field."""
    text = str(value)
    return text if text.isprintable() and not set(text) & set(" =\"'") else json.dumps(text)


def never_wait_for_readers() -> None:
    """Put streams that never wait in the place of standard output and error; lines that nobody reads are dropped."""
    sys.stdout, sys.stderr = STDOUT, STDERR
    atexit.register(STDOUT.drain)
    atexit.register(STDERR.drain)


def configure(settings: Settings, process: str) -> None:
    """Send the root logger to standard error; `process` names the role on every line."""
    atexit.register(STDERR.drain)
    handler = _Handler()
    handler.setFormatter(_Formatter(process, settings.log_format == "json"))
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    for fault in unknown_variables(os.environ):
        logging.getLogger(__name__).warning(fault)
