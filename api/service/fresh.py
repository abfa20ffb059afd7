"""A value that many ask for and that costs milliseconds of Redis and of this process to make."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Fresh(Generic[Value]):
    """Makes the value again once it is older than `for_s`. Used in an event loop."""

    def __init__(
        self, make: Callable[[], Awaitable[Value]], for_s: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._make, self._for_s, self._clock = make, for_s, clock
        self._latest: list[Value] = []
        self._made_s = 0.0

    async def get(self) -> Value:
        """Raises what `make` raises; no older value is returned while it does."""
        now, latest = self._clock(), self._latest
        if not latest or now - self._made_s >= self._for_s:
            self._made_s = now  # until there is a new value, others get the latest
            try:
                latest = self._latest = [await self._make()]
            except Exception:
                self._latest = []
                raise
        return latest[0]
