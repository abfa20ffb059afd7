"""Logging of all processes, configured once, in the entry points: one event a line, for people or as JSON.

Libraries only call `logging.getLogger(__name__)`; the facts of an event are its `extra`. No line holds a user's text.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

from api.telemetry.line_writer import STDERR, STDOUT, log_line, one_word
from ops.variables import unknown_variables
from scheduler.settings import Settings

_NO_FACTS = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "taskName"}  # of every record


class _Handler(logging.Handler):
    """Gives lines to the thread that writes them: a reader that stalls holds nobody up."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            STDERR.put(self.format(record))
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        STDERR.drain()


class _Formatter(logging.Formatter):
    """One line, as in `RequestRecorder.log`. A traceback shows no values of variables: these hold what users wrote."""

    def __init__(self, process: str, is_json: bool) -> None:
        super().__init__()
        self._process, self._is_json = process, is_json

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: value for name, value in vars(record).items() if name not in _NO_FACTS}
        facts["process"] = self._process
        raised = self.formatException(record.exc_info) if record.exc_info else ""
        if self._is_json:
            facts |= {"exception": raised} if raised else {}
        else:
            facts = {name: one_word(value) for name, value in facts.items()}
        text = log_line(record.getMessage(), record.levelname.lower(), record.created, facts, self._is_json)
        return text + (f"{raised}\n" if raised and not self._is_json else "")


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
