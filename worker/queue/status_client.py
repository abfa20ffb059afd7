"""Asks what /readyz goes by, and reports what an API process has counted.

It has a connection of its own, used from one thread: on the one that requests use (api_link.py) the answer would come
too late in an overload.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from worker.queue.connection import Address, RedisConnection, checked, refusal_of, script
from worker.queue.heartbeat import Reporter
from worker.queue.line import ResponseError
from worker.queue.protocol import READY_WITHIN_S, MailboxDown, MailboxStatus, Reports

REDIS_FULL = "Redis is full and takes no request: raise its maxmemory, or wait until answers are forgotten."


class StatusClient:
    """Reports what `reports` has with every question, and `totals` once a second."""

    def __init__(
        self, address: Address, totals: Callable[[], Mapping[str, float]], reports: Sequence[Reports] = ()
    ) -> None:
        self._connection = RedisConnection(address)
        self._reports = reports
        self._totals = totals
        self._reporter = Reporter(is_api=True)
        self._reported_s = 0.0
        self.report_every_s = 0.95  # somewhat less than the second that four questions take; 0 in the end
        self._refusal = ""  # of the last report

    def status(self) -> MailboxStatus:
        """One round trip, bounded by the timeout of the address; never raises for a Redis that is away."""
        try:
            is_due = time.monotonic() - self._reported_s >= self.report_every_s
            ours = self._reporter.command(self._totals()) if is_due else None
            others = [(one, command) for one in self._reports if (command := one.command()) is not None]
            sent = [*([] if ours is None else [ours]), *[command for _, command in others]]
            reply, *taken = self._connection.ask(script("status", READY_WITHIN_S), *sent)
            if ours is not None:
                self._reported_s = time.monotonic()
                self._refusal = self._note_reported(taken.pop(0))
            for (one, _), its_reply in zip(others, taken, strict=True):
                one.note_reply(its_reply)
            return replace(status_of(checked(reply)), refusal=self._refusal)
        except MailboxDown as error:
            return MailboxStatus(redis_ok=False, refusal=refusal_of(error))

    def _note_reported(self, reply: object) -> str:
        """Return what to mend where Redis takes no report; '' otherwise."""
        self._reporter.note_reply(reply)
        # Redis 6.2 says it within an error of the script's.
        if isinstance(reply, ResponseError) and "OOM " in str(reply):
            return REDIS_FULL
        return refusal_of(reply) if isinstance(reply, Exception) else ""


def status_of(reply: list[Any]) -> MailboxStatus:
    """Read STATUS' reply."""
    num_live, depth, num_open, num_done, num_failed, is_suspended = reply
    return MailboxStatus(True, num_live, depth, num_open, num_done, num_failed, is_suspended == 1)
