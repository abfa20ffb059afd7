"""Writes the trace of a request, in the two parts that are kept of it: what its worker saw, and its API replica.

A part is one short line of numbers, times in whole microseconds, and holds no word of a user; scheduler/trace_parts.py
reads it. Writing is on every request's way, so the texts of iterations are made once for the whole batch.

A trace may be part of a larger system's, by W3C's Trace Context. Nothing here exports spans; `ops` does, where it is
switched on.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from scheduler.batching import Sequence
from scheduler.messages import MAX_OUTPUT_TOKENS, FinishReason, Timings

_KEPT_ITERATIONS = 2 * MAX_OUTPUT_TOKENS
# Filled by %, which takes half as long as an f-string.
_SEQUENCE_FORM = "%d,%d,%d,%d,%s,%d,%d;%s"
_REQUEST_FORM = "%s;%d,%s,%.6f;%d,%d,%d,%d,%d,%d"
OWN_ID = "."  # in a list of what follows a request's id in those of its jobs: the id itself
# A later version may add fields behind a dash; of our own, 00, there are exactly four.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


class RecentIterations:
    """The last iterations of an engine."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def note(self, seconds: float, batch_size: int) -> None:
        self._texts.append(f"{seconds * 1e6:.0f}:{batch_size}")
        if len(self._texts) > 4 * _KEPT_ITERATIONS:
            del self._texts[:-_KEPT_ITERATIONS]

    def last(self, number: int) -> str:
        """The texts of the last iterations, as they stand in a part."""
        return " ".join(self._texts[-number:]) if number else ""


def sequence_text(sequence: Sequence, reason: FinishReason, timings: Timings, iterations: RecentIterations) -> str:
    """The worker's part of a sequence that took part in every iteration since its first; `SequencePart` reads it."""
    delivery, num_tokens = sequence.delivery, len(sequence.output_ids)
    facts = (delivery.attempt, sequence.slot, len(delivery.request.prompt_ids), num_tokens, reason.value)
    return _SEQUENCE_FORM % (*facts, timings.queue_s * 1e6, timings.prefill_s * 1e6, iterations.last(num_tokens))


def request_text(
    request_id: str, job_ids: tuple[str, ...], end: tuple[int, str], received_at_s: float, times_s: tuple[float, ...]
) -> str:
    """The part to keep; what `RequestPart` reads. `end`: status and slug. `times_s`: when it was received by the clock
    of its replica, and then when it came to each of the six points of `RequestPart`; 0: never."""
    zero, *points = times_s
    offsets = [(at_s - zero) * 1e6 if at_s else 0 for at_s in points]
    tails = " ".join([job_id[len(request_id) :] or OWN_ID for job_id in job_ids])
    return _REQUEST_FORM % (tails, *end, received_at_s, *offsets)


class TraceContext(NamedTuple):
    """One span of one trace."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16
    is_sampled: bool = True
    parent_span_id: str = ""  # '' : it begins the trace

    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_sampled else '00'}"


def parse_traceparent(header: str | None) -> TraceContext | None:
    """None for a header that is not of this form: a client's mistake must not cost it the answer."""
    found = _TRACEPARENT.fullmatch(header) if header else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "00" and more is not None:
        return None
    return TraceContext(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


class SpanSink(Protocol):
    """Takes what spans are made of, at once and without waiting; `run` is the target of a thread that exports them."""

    def begin(self, header: str | None) -> TraceContext | None:
        """The span of a request that has just come, under what its `traceparent` says; None: it is not to be traced."""

    def note_request(self, context: TraceContext, name: str, request_id: str, text: str) -> None:
        """It is over. `text`: as `RequestPart` reads it."""

    def note_sequence(self, traceparent: str, request_id: str, text: str, ended_at_s: float) -> None:
        """One of its jobs is over. `text`: as `SequencePart` reads it; the time is since 1970."""

    def run(self) -> None:
        """Export, for ever."""

    @property
    def has_spans(self) -> bool:
        """Whether some are still to be exported."""
