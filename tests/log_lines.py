"""What our packages log meanwhile: of each line the event, its level and its facts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OURS = ("api", "ops", "scheduler", "worker")
_NO_FACTS = vars(logging.makeLogRecord({})).keys()


class _Collector(logging.Handler):
    def __init__(self, lines: list[dict[str, Any]]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        facts = {name: value for name, value in vars(record).items() if name not in _NO_FACTS}
        self._lines.append(facts | {"event": record.getMessage(), "log_level": record.levelname.lower()})


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    collector, loggers = _Collector(lines), [logging.getLogger(name) for name in _OURS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.addHandler(collector)
            logger.setLevel(logging.DEBUG)
        yield lines
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(collector)
            logger.setLevel(level)
