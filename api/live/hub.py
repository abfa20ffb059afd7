"""The events of the live view. Streams look at the system; nothing does while nobody watches."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from api.http.app import Services
from api.live.figures import figures
from api.service.fresh import Fresh
from api.service.threads import PAGES, in_thread
from scheduler.capacity.observed import Observed
from scheduler.errors import RateLimited, ServingError

MOST_VIEWERS = 32  # of one process
LOOK_EVERY_S = 0.25
_FIGURES_EVERY_S = 1.0  # they cost the most of it: once for all viewers
_KEPT_S = 10.0  # of which rates are taken


class Hub:
    """Used in an event loop."""

    def __init__(self, services: Services) -> None:
        self._observer, self._settings = services.observer, services.settings
        self._num_viewers = 0
        self._seen: deque[Observed] = deque()
        self._figures = Fresh(self._make_figures, _FIGURES_EVERY_S, services.clock)

    def watch(self, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        """The body of an event stream. Raises RateLimited where too many watch already."""
        if self._num_viewers >= MOST_VIEWERS:
            raise RateLimited(f"{MOST_VIEWERS} viewers watch through this replica; try again later.", 10.0)
        self._num_viewers += 1
        return self._events(is_over)

    async def _events(self, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        shown, place = None, ""
        try:
            yield b"retry: 1000\n\n"
            while not is_over():
                try:
                    news, place = await self._observer.news(place)
                    events = [_event("batch", one) for one in news if "\n" not in one]  # a worker writes none
                    if (latest := await self._figures.get()) is not shown:
                        events.append(_event("figures", json.dumps(latest)))
                        shown = latest
                except ServingError as error:
                    events = [_event("problem", json.dumps({"detail": str(error)}))]
                yield b"".join(events) or b": nothing new\n\n"
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._num_viewers -= 1

    async def _make_figures(self) -> dict[str, Any]:
        seen = await self._observer.observe()
        self._seen.append(seen)
        while self._seen[0].now.at_s < seen.now.at_s - _KEPT_S:
            self._seen.popleft()
        return await in_thread(figures, self._seen[0], seen, self._settings, pool=PAGES)


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
