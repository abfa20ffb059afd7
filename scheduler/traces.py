"""Writes the trace of a request, in the two parts that are kept of it: what its worker saw, and its API replica.

A part is one short line of numbers, times in whole microseconds, and holds no word of a user; scheduler/trace_parts.py
reads it. Writing is on every request's way, so the texts of iterations are made once for the whole batch.
"""

from __future__ import annotations

from scheduler.messages import MAX_OUTPUT_TOKENS, Delivery, FinishReason, Timings

_KEPT_ITERATIONS = 2 * MAX_OUTPUT_TOKENS
# Filled by %, which takes half as long as an f-string.
_SEQUENCE_FORM = "%d,%d,%d,%d,%s,%d,%d;%s"
_REQUEST_FORM = "%s;%d,%s,%.6f;%d,%d,%d,%d,%d,%d"
OWN_ID = "."  # in a list of what follows a request's id in those of its jobs: the id itself


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


def sequence_text(sequence: Delivery, reason: FinishReason, timings: Timings, iterations: RecentIterations) -> str:
    """The worker's part of a sequence that took part in every iteration since its first; `SequencePart` reads it."""
    num_tokens = len(sequence.output_ids)
    facts = (sequence.attempt, sequence.slot, len(sequence.request.prompt_ids), num_tokens, reason.value)
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
