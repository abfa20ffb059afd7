"""Asks what /readyz goes by, and reports what an API process has counted.

It has a connection of its own, used from one thread: the other questions of the process go through its one sender, in
turn with all requests, and under an overload that is too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from worker.mailbox import replies
from worker.mailbox.connection import RedisConnection, Where, checked, refusal_of, script
from worker.mailbox.heartbeat import Reporter
from worker.mailbox.line import ResponseError
from worker.mailbox.protocol import READY_WITHIN_S, MailboxDown, MailboxStatus, Reports

REDIS_FULL = "Redis is full, so that no worker can report: raise its maxmemory, or wait until answers are forgotten."


class StatusClient:
    """Reports `totals`, and what `reports` has, with every question."""

    def __init__(self, where: Where, totals: Callable[[], Mapping[str, float]], reports: Reports | None = None) -> None:
        self._connection = RedisConnection(where)
        self._reports = reports
        self._totals = totals
        self._reporter = Reporter(is_api=True)

    def status(self) -> MailboxStatus:
        """One round trip, bounded by the timeout of the address; never raises for a Redis that is away."""
        try:
            report = self._reporter.command(self._totals())
            more = None if self._reports is None else self._reports.command()
            reply, taken, *other = self._connection.ask(
                script("status", READY_WITHIN_S), report, *([] if more is None else [more])
            )
            self._reporter.note_reply(taken)
            if self._reports is not None and other:
                self._reports.note_reply(other[0])
            status = replies.status_of(checked(reply))
            refusal = (
                REDIS_FULL
                if isinstance(taken, ResponseError) and taken.is_a("OOM")
                else refusal_of(taken if isinstance(taken, Exception) else None)
            )
            return replace(status, refusal=refusal) if refusal else status
        except MailboxDown as error:
            return MailboxStatus(redis_ok=False, refusal=refusal_of(error))
