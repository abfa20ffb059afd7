"""GET /metrics for many: it is open, and each fresh page costs Redis and this process milliseconds.

Four a second are made; whoever asks beyond that gets the latest, which is then a quarter of a second old at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable

FRESH_PER_S = 4.0


class MetricsPage:
    """`make` computes a page, and raises what the caller of `text` gets."""

    def __init__(self, make: Callable[[], bytes], clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._latest = b""
        self._fresh_left = FRESH_PER_S
        self._counted_s = clock()

    def text(self) -> bytes:
        """A fresh page for those who ask now and then."""
        now = self._clock()
        self._fresh_left = min(FRESH_PER_S, self._fresh_left + (now - self._counted_s) * FRESH_PER_S)
        self._counted_s = now
        if self._fresh_left >= 1 or not self._latest:
            self._fresh_left = max(0.0, self._fresh_left - 1)
            try:
                self._latest = self._make()
            except Exception:
                self._latest = b""  # while no page can be made no older one is shown
                raise
        return self._latest
