"""The waterfall of one request, put together from the parts that its replica and its workers have kept of it.

Each part counts by its own process's clock. They meet where the replica sent the request to the queue: from there the
worker's times run on, its share of the queueing measured by the queue's clock. Acceptance is a little later than that,
so nothing of the worker's is shown too late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scheduler.messages import FinishReason
from scheduler.traces import RequestPart, SequencePart
from worker.mailbox.found_traces import FoundTrace, TracedJob

_BAR_WIDTH = 60
_LAST = ("delivered", "acknowledged", "refused")  # of a request
_ANSWERED = (FinishReason.STOP, FinishReason.LENGTH)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that took a while."""

    name: str
    start_s: float  # since the request was received, or accepted where that is not known
    seconds: float
    sentence: int | None = None  # from 1; None: of the whole request
    step: int | None = None  # decode steps, from 1
    batch_size: int | None = None

    @property
    def end_s(self) -> float:
        return self.start_s + self.seconds

    def document(self) -> dict[str, Any]:
        told: dict[str, Any] = {"name": self.name, "start_ms": _ms(self.start_s), "duration_ms": _ms(self.seconds)}
        more = {"sentence": self.sentence, "step": self.step, "batch_size": self.batch_size}
        return told | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Of one request."""

    request_id: str
    found: FoundTrace
    events: tuple[Event, ...]

    def document(self) -> dict[str, Any]:
        own = self.found.request
        told: dict[str, Any] = {"request_id": self.request_id, "is_complete": self.found.is_complete}
        if own is not None:
            told |= {"received_at": _iso(own.received_at_s), "status": own.status}
            told |= {"problem": own.slug} if own.slug else {}
        sentences = enumerate(self.found.jobs, start=1)
        return told | {
            "duration_ms": _ms(self._end_s),
            "sentences": [_sentence_document(number, job) for number, job in sentences],
            "events": [event.document() for event in self.events],
        }

    def text(self) -> str:
        """For a terminal."""
        end_ms = f"{self._end_s * 1e3:.1f} ms"
        lines = [self._headline(), f"{'':16}{'start':>9}{'took ms':>9}  {'batch':>5}  0{end_ms:>{_BAR_WIDTH - 1}}"]
        lines += [self._bar(event) for event in self.events if event.sentence is None and event.name not in _LAST]
        for number, job in enumerate(self.found.jobs, start=1):
            lines.append(_sentence_text(number, job))
            lines += [self._bar(event) for event in self.events if event.sentence == number]
        lines += [self._bar(event) for event in self.events if event.name in _LAST]
        return "\n".join(lines) + "\n"

    @property
    def _end_s(self) -> float:
        return max((event.end_s for event in self.events), default=0.0)

    def _headline(self) -> str:
        own = self.found.request
        told = f"request {self.request_id}"
        if own is not None:
            told += f", received {_iso(own.received_at_s)}, status {own.status} {own.slug}".rstrip()
        return told + ("" if self.found.is_complete else "  (parts of the trace are missing)")

    def _bar(self, event: Event) -> str:
        per_s = _BAR_WIDTH / (self._end_s or 1.0)
        first = min(int(event.start_s * per_s), _BAR_WIDTH - 1)
        width = max(1, round(event.end_s * per_s) - first)
        name = ("  " if event.sentence else "") + event.name + (f" {event.step}" if event.step else "")
        batch = "" if event.batch_size is None else str(event.batch_size)
        numbers = f"{event.start_s * 1e3:9.2f}{event.seconds * 1e3:9.2f}"
        return f"{name:<16}{numbers}  {batch:>5}  {' ' * first}{'█' * width}"


def waterfall_of(request_id: str, found: FoundTrace) -> Waterfall:
    """Of what is there, in the order of its beginnings."""
    own = found.request
    events = [] if own is None else list(_request_events(own))
    accepted_s = 0.0 if own is None else own.sent_s
    for number, job in enumerate(found.jobs, start=1):
        if job.part is not None:
            events += _sentence_events(number, job.part, accepted_s)
    return Waterfall(request_id, found, tuple(sorted(events, key=lambda event: event.start_s)))


def _request_events(own: RequestPart) -> Iterator[Event]:
    yield Event("received", 0.0, own.parsed_s)
    yield Event("tokenized", own.parsed_s, own.tokenized_s - own.parsed_s)
    yield Event("reserved", own.sent_s, own.accepted_s - own.sent_s)
    if own.answered_s:
        yield Event("delivered", own.answered_s, own.delivered_s - own.answered_s)
    else:  # nobody waited for it (202), or in vain
        yield Event("acknowledged" if own.status == 202 else "refused", own.delivered_s, 0.0)


def _sentence_events(number: int, part: SequencePart, accepted_s: float) -> Iterator[Event]:
    yield Event("queued", accepted_s, part.queue_s, number)
    at_s = accepted_s + part.queue_s
    first, *decodes = part.steps or (None,)
    yield Event("prefill", at_s, part.prefill_s, number, batch_size=first and first.batch_size)
    at_s += part.prefill_s
    for step, (seconds, batch_size) in enumerate(decodes, start=1):
        yield Event("decode", at_s, seconds, number, step, batch_size)
        at_s += seconds
    if part.finish_reason in _ANSWERED:
        yield Event("published", at_s, part.publish_s, number)


def _sentence_document(number: int, job: TracedJob) -> dict[str, Any]:
    told: dict[str, Any] = {"sentence": number, "job_id": job.job_id}
    part = job.part
    if part is None:
        return told
    return told | {
        "attempt": part.attempt,
        "slot": part.slot,
        "prompt_tokens": part.prompt_tokens,
        "output_tokens": part.output_tokens,
        "finish_reason": part.finish_reason.value,
    }


def _sentence_text(number: int, job: TracedJob) -> str:
    part = job.part
    if part is None:
        return f"sentence {number}: no worker has told of it"
    return (
        f"sentence {number}: {part.prompt_tokens} prompt tokens, {part.output_tokens} output tokens, "
        f"slot {part.slot}, attempt {part.attempt}, {part.finish_reason.value}"
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
