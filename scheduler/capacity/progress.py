"""Whether requests that wait are answered, as one process sees it that asks for the counts again and again.

GET /readyz goes by it. Pure: times come as an argument.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from scheduler.capacity.health import FAILING_WINDOW_S, share_of


@dataclass(slots=True)
class Progress:
    """One thread calls `note`; any may read the two figures."""

    stuck_s: float = 0.0  # for how long requests have been open and none was answered
    failing_share: float = 0.0  # of the sentences that ended in the last ten seconds
    _answered_s: float = 0.0  # when something was last answered, or nothing was open
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)  # when, done, failed; oldest first

    def note(self, now: float, num_open: int, done: int, failed: int) -> None:
        """`num_open`: accepted and unfinished; the others are of all time."""
        if not self._seen or done != self._seen[-1][1] or not num_open:
            self._answered_s = now
        if self._seen and (done < self._seen[-1][1] or failed < self._seen[-1][2]):  # Redis was emptied
            self._seen.clear()
        self._seen.append((now, done, failed))
        while self._seen[0][0] < now - FAILING_WINDOW_S:
            self._seen.popleft()
        _, done_before, failed_before = self._seen[0]
        self.stuck_s = now - self._answered_s
        self.failing_share = share_of(failed - failed_before, done - done_before)
