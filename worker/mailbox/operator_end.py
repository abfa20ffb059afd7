"""The end of those who watch the queue and repair it. Each class has a connection of its own, used from one thread.

`SystemReader` is for processes that only watch. `StatusClient` asks what /readyz goes by: the API's other questions go
through its one sender, in turn with all requests, and under an overload that is too late. What the replica has counted
goes along with that question. `DeadLetters` are requests that were given up; an operator looks at them in RQ's tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from redis import Redis
from redis.exceptions import OutOfMemoryError

from scheduler.capacity.observed import Observed
from worker.mailbox import replies
from worker.mailbox.connection import RedisConnection, checked, refusal_of, script
from worker.mailbox.formats import check_request_id
from worker.mailbox.heartbeat import Reporter
from worker.mailbox.protocol import READY_WITHIN_S, MailboxDown, MailboxStatus, Reports

REDIS_FULL = "Redis is full, so that no worker can report: raise its maxmemory, or wait until answers are forgotten."
_SPOKEN = {b"canceled": "cancelled"}  # RQ's spelling, and ours


class SystemReader:
    """Connects when first asked."""

    def __init__(self, client: Redis) -> None:
        self._connection = RedisConnection(client)

    def observe(self) -> Observed:
        """One round trip. Raises MailboxDown."""
        return replies.observed_of(self._connection.ask_one(script("observe", READY_WITHIN_S)))

    def close(self) -> None:
        self._connection.close()


class StatusClient:
    """Reports `totals`, and what `reports` has, with every question."""

    def __init__(
        self, client: Redis, totals: Callable[[], Mapping[str, float]], reports: Reports | None = None
    ) -> None:
        self._connection = RedisConnection(client)
        self._reports = reports
        self._totals = totals
        self._reporter = Reporter(is_api=True)

    def status(self) -> MailboxStatus:
        """One round trip, bounded by the client's timeout; never raises for a Redis that is away."""
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
            return replace(status, refusal=REDIS_FULL) if isinstance(taken, OutOfMemoryError) else status
        except MailboxDown as error:
            return MailboxStatus(redis_ok=False, refusal=refusal_of(error))


class NoDeadLetter(LookupError):
    """Under this id is none; the message says what there is."""


class DeadLetters:
    """Of one queue."""

    def __init__(self, client: Redis) -> None:
        self._connection = RedisConnection(client)

    def requeue(self, request_id: str) -> None:
        """To the end of the queue, with two attempts before it. Raises NoDeadLetter, MailboxDown."""
        self._move("revive", request_id)

    def drop(self, request_id: str) -> None:
        """Forget it. Raises NoDeadLetter, MailboxDown."""
        self._move("drop", request_id)

    def close(self) -> None:
        self._connection.close()

    def _move(self, name: str, request_id: str) -> None:
        try:
            check_request_id(request_id)
        except ValueError as error:
            raise NoDeadLetter(str(error)) from None
        reply = self._connection.ask_one(script(name, request_id))
        if reply == b"":
            raise NoDeadLetter(f"there is no request {request_id}; dead letters are kept for a week")
        if reply not in (b"revived", b"dropped"):
            raise NoDeadLetter(f"request {request_id} is no dead letter, it is {_SPOKEN.get(reply, reply.decode())}")
