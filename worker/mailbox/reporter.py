"""What a process has counted, on its way into the sums of the whole system: each count once, whatever gets lost.

A report holds the differences to the last one that Redis took, and a number. One whose reply never came is sent again
as it was; Redis adds no number twice. Parts of traces go along.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from redis import ResponseError

from worker.mailbox.line import Command, script
from worker.mailbox.traces import Traces

TRACES_DROPPED = "traces_dropped"  # among the totals


class Reporter:
    """Used from one thread."""

    def __init__(self, traces: Traces | None = None, is_api: bool = False) -> None:
        self._traces = traces or Traces(ttl_s=0)
        self._is_api = is_api
        self._process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}"
        self._number = 1
        self._taken: dict[str, float] = {}
        self._sent: dict[str, float] | None = None  # by a report that may have been lost
        self._words: list[str] = []

    def commands(self, totals: Mapping[str, float]) -> list[Command]:
        """The report to send now, and what is to be kept; `note_replies` says what came of them. `totals` only grow."""
        if self._sent is None:
            self._sent = {**totals, TRACES_DROPPED: self._traces.num_dropped}
            taken = self._taken
            news = {
                name: value - taken.get(name, 0) for name, value in self._sent.items() if value != taken.get(name, 0)
            }
            self._words = [word for name, difference in news.items() for word in (name, repr(difference))]
        report = script("report", self._process, self._number, "1" if self._is_api else "", *self._words)
        parts = self._traces.to_send()
        return [report, script("keep", self._traces.ttl_s, *chain(*parts.items()))] if parts else [report]

    def note_replies(self, replies: Sequence[Any]) -> None:
        """Of these commands. What Redis refused is sent again."""
        report, *kept = replies
        if not isinstance(report, ResponseError):
            assert self._sent is not None
            self._taken, self._sent = self._sent, None
            self._number += 1
        if kept and not isinstance(kept[0], ResponseError):
            self._traces.note_taken()
