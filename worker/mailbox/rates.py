"""How much this mailbox's worker can finish, and from it how long a refused client should stay away."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

_WINDOW_S = 0.5
_HALF_LIFE_S = 30.0
_LONGEST_STEP_S = 2.0  # no iteration takes longer; a machine that slept does
_LONGEST_S = 60.0
_UNKNOWN_RETRY_S = 2.0  # nothing was finished yet: one worker start's worth


@dataclass(slots=True)
class ServiceRate:
    """Reserved tokens finished per second of work: the best of late.

    Only time with something to do counts, or an idle hour would look like a slow machine. A light load does not show
    what a worker could do either, so the best window counts and is forgotten slowly.
    """

    _tokens: int = 0
    _busy_s: float = 0.0
    _counted_s: float | None = None  # up to when; None: nothing to do
    _best_per_s: float = 0.0

    @property
    def tokens_per_s(self) -> float:
        return self._best_per_s

    def begin(self, now: float) -> None:
        """There is something to do, perhaps since long."""
        if self._counted_s is None:
            self._counted_s = now

    def pause(self) -> None:
        """There is nothing to do."""
        self._counted_s = None

    def add(self, tokens: int, now: float) -> None:
        """So many were finished."""
        self.begin(now)
        self._tokens += tokens
        self._busy_s += min(now - self._counted_s, _LONGEST_STEP_S)
        self._counted_s = now
        if self._busy_s >= _WINDOW_S:
            faded = self._best_per_s * 0.5 ** (self._busy_s / _HALF_LIFE_S)
            self._best_per_s = max(self._tokens / self._busy_s, faded)
            self._tokens, self._busy_s = 0, 0.0


def retry_after_s(backlog_tokens: int, tokens_per_s: float) -> int:
    """Whole seconds, drawn from those between once and twice the time that the backlog of now takes (1 to 60 s).

    By then there is room for a whole queue; those who were refused together do not come back together, so that up to
    twice as many as the queue holds find room at their first retry.
    """
    seconds = _UNKNOWN_RETRY_S if tokens_per_s <= 0 else min(_LONGEST_S, max(1.0, backlog_tokens / tokens_per_s))
    return random.randint(math.ceil(seconds), math.floor(max(2 * seconds, math.ceil(seconds))))
