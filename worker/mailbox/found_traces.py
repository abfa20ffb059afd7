"""What is kept of a request's trace, as it is read back, and whether more is to be expected."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from scheduler.messages import FinishReason
from scheduler.traces import RequestPart, SequencePart, TraceError
from worker.mailbox.traces import REQUEST_SUFFIX

_UNFINISHED = (b"queued", b"started")
_ANSWERED = (FinishReason.STOP, FinishReason.LENGTH)
# Parts are under way for a beat, and for another where Redis did not take the first. What is not there then never
# comes: its process died, or the job ended where no worker saw it.
_ON_THEIR_WAY_S = 2.0
logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TracedJob:
    """One sentence of it."""

    job_id: str
    part: SequencePart | None
    is_over: bool  # nothing more will be known of it


@dataclass(frozen=True, slots=True)
class FoundTrace:
    """Of one request."""

    request: RequestPart | None
    jobs: tuple[TracedJob, ...]

    @property
    def is_pending(self) -> bool:
        """Whether the request still runs, or parts are still on their way."""
        lacks = self.request is None or any(job.part is None for job in self.jobs)
        return lacks and not all(job.is_over for job in self.jobs)

    @property
    def is_complete(self) -> bool:
        return self.request is not None and all(job.part is not None for job in self.jobs)


def found_trace(request_id: str, reply: list[Any]) -> FoundTrace | None:
    """Of TRACE's reply."""
    if not reply:
        return None
    now, lines, *rows = reply
    texts: dict[str, list[str]] = {}
    for line in lines:
        name, text = line.decode().split(" ", 1)
        texts.setdefault(name, []).append(text)
    jobs = [
        TracedJob(job_id.decode(), _last_attempt(texts.get(job_id.decode(), ())), _is_over(*facts, now))
        for job_id, *facts in rows
    ]
    own = _read(texts.get(request_id + REQUEST_SUFFIX, ()), lambda text: RequestPart.from_text(request_id, text))
    return FoundTrace(next(iter(own), None), tuple(jobs))


def _last_attempt(texts: Sequence[str]) -> SequencePart | None:
    """A worker that lost its lease tells of what it had to drop, perhaps after the one that answered."""
    parts = _read(texts, SequencePart.from_text)
    return max(parts, key=lambda part: (part.finish_reason in _ANSWERED, part.attempt), default=None)


def _read(texts: Sequence[str], reader: Callable[[str], T]) -> list[T]:
    """Without those that another version has written."""
    parts = []
    for text in texts:
        try:
            parts.append(reader(text))
        except TraceError as error:
            logger.warning("a part of a trace cannot be read: %s", error)
    return parts


def _is_over(status: bytes, ended_at: bytes, now: bytes) -> bool:
    if status in _UNFINISHED:
        return False
    if not ended_at:
        return True  # forgotten
    return (_time(now) - _time(ended_at)).total_seconds() > _ON_THEIR_WAY_S


def _time(iso: bytes) -> datetime:
    return datetime.fromisoformat(iso.decode())
