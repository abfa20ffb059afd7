"""What a process knows of a full queue for a moment after it was told: a flood of refusals costs Redis little."""

from __future__ import annotations

import time
from collections.abc import Callable

from scheduler.errors import QueueFull
from scheduler.messages import MAX_OUTPUT_TOKENS
from worker.mailbox import bounds
from worker.mailbox.protocol import MailboxLimits

_LONGEST_S = 0.05
_SHARE_OF_BACKLOG = 0.02  # what has ended meanwhile is at most so much of the queue: it never runs dry for this


class Fullness:
    """Of one process. Threads may share it: what is known is one tuple."""

    def __init__(self, limits: MailboxLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._known: tuple[float, tuple[int, int, float]] = (0.0, (0, 0, 0.0))  # until when, and what

    def note(self, requests: int, tokens: int, tokens_per_s: float) -> QueueFull:
        """Redis has refused with these numbers; returns the refusal in words."""
        fits_nobody = requests >= self._limits.max_requests or self._limits.max_tokens - tokens <= MAX_OUTPUT_TOKENS
        if fits_nobody and tokens_per_s > 0:
            holds_s = min(_LONGEST_S, _SHARE_OF_BACKLOG * tokens / tokens_per_s)
            self._known = self._clock() + holds_s, (requests, tokens, tokens_per_s)
        return bounds.queue_full(requests, tokens, tokens_per_s, self._limits)

    def refusal(self) -> QueueFull | None:
        """What anybody would be told who came now; None where Redis is to be asked."""
        until, numbers = self._known
        return bounds.queue_full(*numbers, self._limits) if self._clock() < until else None
