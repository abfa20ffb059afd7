"""Dead letters: requests that were given up. An operator looks at them in RQ's tools, and repairs them here."""

from __future__ import annotations

from worker.queue.connection import RedisConnection, Where, script
from worker.queue.formats import check_request_id

_SPOKEN = {b"canceled": "cancelled"}  # RQ's spelling, and ours


class NoDeadLetter(LookupError):
    """There is no dead letter under this id; the message says what there is."""


class DeadLetters:
    """Requeues or drops the dead letters of one queue."""

    def __init__(self, where: Where) -> None:
        self._connection = RedisConnection(where)

    def requeue(self, request_id: str) -> None:
        """Put it at the end of the queue, with two attempts left. Raises NoDeadLetter, MailboxDown."""
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
