"""The question behind /readyz, on a connection of its own: for a thread that must not wait for other traffic.

The API's other questions go through its one sender, in turn with all requests; under an overload that is too late. What
the replica has counted, and its parts of traces, go along with the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redis import Redis, ResponseError

from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.protocol import READY_WITHIN_S, MailboxStatus
from worker.mailbox.reporter import Reporter
from worker.mailbox.traces import Traces


class StatusWatch:
    """Used from one thread."""

    def __init__(self, client: Redis, totals: Callable[[], Mapping[str, float]], traces: Traces | None = None) -> None:
        self._line = Line(client)
        self._totals = totals
        self._reporter = Reporter(traces, is_api=True)

    def status(self) -> MailboxStatus:
        """One round trip, bounded by the client's timeout; never raises for a Redis that is away."""
        try:
            reply, *told = self._line.ask(status_command(), *self._reporter.commands(self._totals()))
        except LineDown:
            return MailboxStatus(redis_ok=False)
        self._reporter.note_replies(told)
        return MailboxStatus(redis_ok=False) if isinstance(reply, ResponseError) else status_of(reply)


def status_command() -> Command:
    return script("status", READY_WITHIN_S)


def status_of(reply: list[Any]) -> MailboxStatus:
    """Of STATUS' reply."""
    return MailboxStatus(True, *reply[:4], float(reply[4]), reply[5].decode())
