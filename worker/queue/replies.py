"""What Redis replies to the questions of the API's end, read into plain values."""

from __future__ import annotations

from math import isfinite
from typing import Any

from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, FinishReason, WireError
from worker.queue import formats
from worker.queue.protocol import MailboxStatus

ENDS = {b"canceled": FinishReason.CANCELLED, b"expired": FinishReason.EXPIRED}


def status_of(reply: list[Any]) -> MailboxStatus:
    """Read STATUS' reply."""
    *numbers, rate, is_suspended = reply
    status: tuple[Any, ...] = (True, *numbers, number(rate), is_suspended == 1)
    return MailboxStatus(*status)


def number(text: bytes | None) -> float:
    """Return 0 for what is no number: somebody else wrote it."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            news = formats.decode_news(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
        return news if isinstance(news, Completion) else RequestFailed("the answer is not complete")
    return Completion(job_id, ENDS[state]) if state in ENDS else None
