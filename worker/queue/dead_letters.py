"""Dead letters: requests that were given up. An operator looks at them in RQ's tools, and repairs them here."""

from __future__ import annotations

from worker.queue.connection import RedisConnection, script
from worker.queue.formats import check_request_id

_SPOKEN = {b"canceled": "cancelled"}  # RQ's spelling, and ours


class NoDeadLetter(LookupError):
    """There is no dead letter under this id; the message says what there is."""


def move(connection: RedisConnection, name: str, request_id: str) -> None:
    """`revive`: put it at the end of the queue, with two attempts left; `drop`: forget it.

    Raises NoDeadLetter, MailboxDown.
    """
    try:
        check_request_id(request_id)
    except ValueError as error:
        raise NoDeadLetter(str(error)) from None
    reply = connection.ask_one(script(name, request_id))
    if reply == b"":
        raise NoDeadLetter(f"there is no request {request_id}; dead letters are kept for a week")
    if reply not in (b"revived", b"dropped"):
        raise NoDeadLetter(f"request {request_id} is no dead letter, it is {_SPOKEN.get(reply, reply.decode())}")
