"""Standard error and output for what does not log: tracebacks, the lines of `miniserve up`."""

from __future__ import annotations

import io
import os

from api.telemetry.line_writer import LineWriter


class LineStream(io.TextIOBase):
    """A text stream in the place of sys.stderr or sys.stdout that never waits for a reader."""

    encoding = "utf-8"

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here, not bytes")  # click asks by writing some
        if text:
            self._writer.put(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self._writer.descriptor)

    def fileno(self) -> int:
        return self._writer.descriptor
