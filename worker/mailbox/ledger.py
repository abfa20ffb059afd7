"""The counts of a mailbox inside one process: as Redis keeps them for the whole system. Time comes as an argument."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from scheduler.messages import Completion, FinishReason
from scheduler.observations import ITERATIONS
from scheduler.observed import Moment

_ROWS, _STEP_S = 120, 1.0
_OUTCOMES = {
    FinishReason.ERROR: "failed", FinishReason.CANCELLED: "cancelled", FinishReason.EXPIRED: "expired",
}  # fmt: skip


class Ledger:
    """Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.num_open = 0
        self._stay_s = 0.0
        self._area_s = 0.0
        self._since_s: float | None = None
        self._history: deque[Moment] = deque(maxlen=_ROWS)

    def accept(self, now: float) -> None:
        self._integrate(now)
        self.num_open += 1
        self.counts["accepted"] += 1

    def refuse(self, why: str, num_sentences: int) -> None:
        """One HTTP request."""
        self.counts[why] += 1
        self.counts["refused_sentences"] += num_sentences

    def end(self, completion: Completion, accepted_s: float, now: float) -> None:
        self._integrate(now)
        self.num_open -= 1
        self._stay_s += now - accepted_s
        self.counts[_OUTCOMES.get(completion.finish_reason, "done")] += 1
        self.counts["done_length"] += completion.finish_reason is FinishReason.LENGTH

    def moment(self, now: float, totals: Mapping[str, float]) -> Moment:
        """What there is now."""
        self._integrate(now)
        prefix = f"{ITERATIONS}:"
        return Moment(
            at_s=now,
            area_s=self._area_s,
            stay_s=self._stay_s,
            accepted=self.counts["accepted"],
            refused=self.counts["refused_sentences"],
            ended=self.counts["accepted"] - self.num_open,
            iterations={name.removeprefix(prefix): value for name, value in totals.items() if name.startswith(prefix)},
        )

    def history(self, moment: Moment) -> tuple[Moment, ...]:
        """Of those who asked before; the present one joins it where the last is a second old."""
        history = tuple(self._history)
        if not history or moment.at_s - history[-1].at_s >= _STEP_S:
            self._history.append(moment)
        return history

    def _integrate(self, now: float) -> None:
        if self._since_s is not None:
            self._area_s += self.num_open * (now - self._since_s)
        self._since_s = now
