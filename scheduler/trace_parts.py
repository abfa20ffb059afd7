"""Reads what scheduler/traces.py wrote: the two parts of a trace, and what is kept of both.

Each part counts by one process's clock; where they meet is for api/observe/waterfall.py to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scheduler.messages import FinishReason
from scheduler.phases import Phase, phase_of
from scheduler.traces import OWN_ID

HANDOFF_BATCH = 0  # in the place of a batch size: not an iteration, the way from a prefill worker to a decode worker


class TraceError(ValueError):
    """A part that cannot be read: of another version, or not ours."""


class Step(NamedTuple):
    """One iteration as one of its sequences sees it."""

    seconds: float  # since the iteration before
    batch_size: int


@dataclass(frozen=True, slots=True)
class SequencePart:
    """What a worker saw of one job, in seconds since its acceptance."""

    attempt: int
    slot: int
    prompt_tokens: int
    output_tokens: int
    finish_reason: FinishReason
    queue_s: float
    prefill_s: float
    steps: tuple[Step, ...]  # the first is the prefill's; its own time is `prefill_s`

    @classmethod
    def from_text(cls, text: str) -> SequencePart:
        """Raises TraceError."""
        try:
            facts, steps = text.split(";")
            *counts, reason, queue_us, prefill_us = facts.split(",")
            attempt, slot, prompt_tokens, output_tokens = map(int, counts)
            counted = attempt, slot, prompt_tokens, output_tokens
            pairs = [step.split(":") for step in steps.split()]
            taken = tuple(Step(int(us) / 1e6, int(batch_size)) for us, batch_size in pairs)
            return cls(*counted, FinishReason(reason), int(queue_us) / 1e6, int(prefill_us) / 1e6, taken)
        except (ValueError, TypeError) as error:
            raise TraceError(f"not what a worker saw: {error!r}") from error


@dataclass(frozen=True, slots=True)
class RequestPart:
    """What an API replica saw of one HTTP request, in seconds since it was received; 0: it never came to that."""

    job_ids: tuple[str, ...]
    status: int
    slug: str
    received_at_s: float  # since 1970
    parsed_s: float
    tokenized_s: float
    sent_s: float
    accepted_s: float
    answered_s: float
    delivered_s: float

    @classmethod
    def from_text(cls, request_id: str, text: str) -> RequestPart:
        """Raises TraceError."""
        try:
            tails, about, times = text.split(";")
            status, slug, received_at_s = about.split(",")
            job_ids = tuple(request_id if tail == OWN_ID else request_id + tail for tail in tails.split())
            times_s = [int(us) / 1e6 for us in times.split(",")]
            return cls(job_ids, int(status), slug, float(received_at_s), *times_s)
        except (ValueError, TypeError) as error:
            raise TraceError(f"not what an API replica saw: {error!r}") from error


@dataclass(frozen=True, slots=True)
class TracedJob:
    """One sentence of a request."""

    job_id: str
    part: SequencePart | None
    state: Phase | FinishReason | None = None  # of its ends CANCELLED and EXPIRED alone: others leave a part

    @property
    def finish_reason(self) -> FinishReason | None:
        if self.part is not None:
            return self.part.finish_reason
        return self.state if isinstance(self.state, FinishReason) else None


@dataclass(frozen=True, slots=True)
class FoundTrace:
    """What is kept of the trace of a request."""

    request: RequestPart | None
    jobs: tuple[TracedJob, ...]

    @property
    def phase(self) -> Phase | None:
        """None: the request is over."""
        return phase_of([job.state for job in self.jobs])

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing more to know: of a job that was cancelled no worker may have a part."""
        return self.request is not None and all(job.finish_reason is not None for job in self.jobs)
