"""Logging of all processes, configured once, in the entry points: one event a line, for people or as JSON.

Libraries only call `logging.getLogger(__name__)` or `structlog.get_logger()`. No line holds a user's text.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

import structlog

from api.telemetry.line_stream import LineStream
from api.telemetry.line_writer import STDERR, STDOUT
from ops.variables import unknown_variables
from scheduler.settings import Settings

_SHARED = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


class _Handler(logging.Handler):
    """Gives lines to the thread that writes them: a reader that stalls holds nobody up."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            STDERR.put(self.format(record) + "\n")
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        STDERR.flush()


def never_wait_for_readers() -> None:
    """Put streams that never block in the place of standard output and error; lines that nobody reads are dropped."""
    sys.stdout, sys.stderr = LineStream(STDOUT), LineStream(STDERR)
    atexit.register(STDOUT.flush)
    atexit.register(STDERR.flush)


def configure(settings: Settings, process: str) -> None:
    """Send the root logger and structlog to standard error; `process` names the role on every line."""
    structlog.contextvars.bind_contextvars(process=process)
    atexit.register(STDERR.flush)
    handler = _Handler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(settings.log_format)],
            foreign_pre_chain=list(_SHARED),
        )
    )
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    for fault in unknown_variables(os.environ):
        logging.getLogger(__name__).warning(fault)


def _rendering(log_format: str) -> list[structlog.typing.Processor]:
    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Plain: where rich is installed the default prints the values of local variables, and these hold what users wrote.
    # It also takes a tenth of a second of CPU for each, in a process that serves others.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
