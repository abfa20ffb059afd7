"""What Redis replies to the questions of the API's end, read into plain values."""

from __future__ import annotations

from math import isfinite
from typing import Any

from scheduler.errors import RequestFailed, ServingError
from scheduler.messages import Completion, FinishReason, Phase, WireError
from worker.mailbox import admission, formats
from worker.mailbox.protocol import Found, FoundJob, MailboxStatus

PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}
ENDS = {b"canceled": FinishReason.CANCELLED, b"expired": FinishReason.EXPIRED}


def status_of(reply: list[Any]) -> MailboxStatus:
    """Of STATUS' reply."""
    *numbers, rate, invariance = reply[:8]
    status: tuple[Any, ...] = (True, *numbers, number(rate), invariance.decode())
    return MailboxStatus(*status)


def number(text: bytes | None) -> float:
    """Return 0 for what is no number: somebody else wrote it."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if isfinite(value) else 0.0


def found_of(reply: list[Any]) -> Found | None:
    """Of FIND's reply: the request and what became of its jobs; None where it is not known, or not any more."""
    document, tokenizer, num_open, _, job_ids, states = reply
    if not document or not tokenizer or not job_ids:
        return None
    is_forgotten = number(num_open) <= 0  # an answer that is gone was forgotten, nobody removed it
    if is_forgotten and any(state == b"gone" for state, _, _ in states):
        return None
    jobs = map(_found_job, job_ids, states)
    return Found(document.decode(errors="replace"), tokenizer.decode(errors="replace"), tuple(jobs))


def _found_job(raw_id: bytes, about: list[bytes]) -> FoundJob:
    job_id, (state, payload, _) = raw_id.decode(errors="replace"), about
    return FoundJob(job_id, PHASES.get(state) or outcome_of(job_id, state, payload) or admission.removed())


def outcome_of(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            news = formats.decode_news(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
        return news if isinstance(news, Completion) else RequestFailed("the answer is not complete")
    return Completion(job_id, ENDS[state]) if state in ENDS else None
