"""How much this mailbox's worker can finish, and from it how long a refused client should stay away."""

from __future__ import annotations

from dataclasses import dataclass

_WINDOW_S = 0.5
_HALF_LIFE_S = 30.0
_UNKNOWN_RETRY_S = 2.0  # nothing was finished yet: one worker start's worth


@dataclass(slots=True)
class ServiceRate:
    """Reserved tokens finished per second: the best of late.

    A light load does not show what a worker could do, so the best window counts and is forgotten slowly.
    """

    _tokens: int = 0
    _since_s: float | None = None
    _best_per_s: float = 0.0

    @property
    def tokens_per_s(self) -> float:
        return self._best_per_s

    def add(self, tokens: int, now: float) -> None:
        if self._since_s is None:
            self._since_s = now
        self._tokens += tokens
        elapsed_s = now - self._since_s
        if elapsed_s >= _WINDOW_S:
            faded = self._best_per_s * 0.5 ** (elapsed_s / _HALF_LIFE_S)
            self._best_per_s = max(self._tokens / elapsed_s, faded)
            self._tokens, self._since_s = 0, now


def retry_after_s(backlog_tokens: int, tokens_per_s: float) -> float:
    """When the backlog of now is worked off; 1 to 60 s."""
    if tokens_per_s <= 0:
        return _UNKNOWN_RETRY_S
    return min(60.0, max(1.0, backlog_tokens / tokens_per_s))
