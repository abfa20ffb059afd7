"""What a process has counted, on its way into the sums of the whole system: each count once, whatever gets lost.

A report holds the differences to the last one that Redis took, and a number. One whose reply never came is sent again
as it was; Redis adds no number twice.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Any

from redis import ResponseError

from worker.mailbox.connection import Command, script


class Reporter:
    """Used from one thread."""

    def __init__(self, is_api: bool = False) -> None:
        self._is_api = is_api
        self._process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}"
        self._number = 1
        self._taken: dict[str, float] = {}
        self._sent: dict[str, float] | None = None  # by a report that may have been lost
        self._words: list[str] = []

    def command(self, totals: Mapping[str, float]) -> Command:
        """The report to send now; `note_reply` learns what came of it. `totals` only grow."""
        if self._sent is None:
            self._sent = dict(totals)
            taken = self._taken
            news = {
                name: value - taken.get(name, 0) for name, value in self._sent.items() if value != taken.get(name, 0)
            }
            self._words = [word for name, difference in news.items() for word in (name, repr(difference))]
        return script("report", self._process, self._number, "1" if self._is_api else "", *self._words)

    def note_reply(self, reply: Any) -> None:
        """Of that command. What Redis refused is sent again."""
        if not isinstance(reply, ResponseError):
            assert self._sent is not None
            self._taken, self._sent = self._sent, None
            self._number += 1
