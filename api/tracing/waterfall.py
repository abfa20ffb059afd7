"""The waterfall of one request: stages with start and duration, from times that its answer carries in any case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler.messages import Completion

_MOST_SENTENCES = 256  # with stages of their own


class Waterfall:
    """Collects the stages of a request that was received at `received_s`. All times are of one clock.

    Workers count by clocks of their own. Their durations follow one another from the moment when the sentences were
    sent to the queue: these were accepted a little later, so nothing of a worker is shown too late.
    """

    def __init__(self, received_s: float) -> None:
        self._stages: list[dict[str, Any]] = []
        self._received_s = self._answered_s = received_s
        self._num_sentences = 0

    def note_answers(self, completions: Sequence[Completion], sent_s: float, now_s: float, is_own: bool = True) -> None:
        """The answers of sentences that were sent together are here. `is_own`: not of an earlier request."""
        if not self._stages:
            self._add("received", self._received_s, sent_s)
        self._answered_s = now_s
        if not is_own:  # their times are of another run
            self._add("found", sent_s, now_s)
        for completion in completions[: _MOST_SENTENCES - self._num_sentences] if is_own else ():
            self._num_sentences += 1
            times, at_s = completion.timings, sent_s
            for name, seconds in (("queue", times.queue_s), ("prefill", times.prefill_s), ("decode", times.decode_s)):
                more = {"output_tokens": len(completion.output_ids)} if name == "decode" else {}
                self._add(name, at_s, at_s + seconds, sentence=self._num_sentences, **more)
                at_s += seconds
            self._add("publish", at_s, max(at_s, now_s), sentence=self._num_sentences)

    def document(self, now_s: float) -> dict[str, Any]:
        """All of it, as JSON; the answer is made now."""
        self._add("conclude", self._answered_s, now_s)
        return {"total_ms": _ms(now_s - self._received_s), "stages": self._stages}

    def _add(self, name: str, start_s: float, end_s: float, **more: int) -> None:
        start_ms, end_ms = _ms(start_s - self._received_s), _ms(end_s - self._received_s)  # so no stage ends after all
        times = {"start_ms": start_ms, "duration_ms": round(end_ms - start_ms, 3)}
        self._stages.append({"name": name, **times, **more})


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)
