"""The events of the live view. Streams look at the system; nothing does while nobody watches."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from api.live.figures import figures
from api.service.fresh import Fresh
from api.service.threads import PAGES, in_thread
from api.services import Services
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
        self._viewers: dict[object, str] = {}  # and the client of each; oldest first
        self._seen: deque[Observed] = deque()
        self._figures = Fresh(self._make_figures, _FIGURES_EVERY_S, services.clock)

    def watch(self, is_over: Callable[[], bool], client: str = "") -> AsyncGenerator[bytes]:
        """The body of an event stream. Raises RateLimited where too many watch already."""
        viewer = object()
        if len(self._viewers) >= MOST_VIEWERS:
            self._make_room(client)
        self._viewers[viewer] = client
        return self._events(viewer, is_over)

    def _make_room(self, client: str) -> None:
        """End the oldest stream of the client that has most. Raises RateLimited for one that would have as many."""
        held = Counter(self._viewers.values())
        greediest, most = held.most_common(1)[0]
        if held[client] + 1 >= most:
            raise RateLimited(f"{MOST_VIEWERS} viewers watch through this replica; try again later.", 10.0)
        del self._viewers[next(viewer for viewer, each in self._viewers.items() if each == greediest)]

    async def _events(self, viewer: object, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        shown, place = None, ""
        try:
            yield b"retry: 1000\n\n"
            while not is_over() and viewer in self._viewers:
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
            self._viewers.pop(viewer, None)

    async def _make_figures(self) -> dict[str, Any]:
        seen = await self._observer.observe()
        self._seen.append(seen)
        while self._seen[0].now.at_s < seen.now.at_s - _KEPT_S:
            self._seen.popleft()
        return await in_thread(figures, self._seen[0], seen, self._settings, pool=PAGES)


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
