"""GET /ops and its events. Streams look at the system; nothing does while nobody watches."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest, bearer_of
from api.http.lines import EVENT_HEADERS, NOTHING_NEW, event_of
from api.http.replies import Reply
from api.live.figures import figures
from api.pages.files import file_reply
from api.service.exchange import Exchange
from api.service.fresh import Fresh
from api.service.threads import PAGES, in_thread
from scheduler.capacity.observed import Observed
from scheduler.errors import RateLimited, ServingError, Unauthorized

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
                    events = [event_of("batch", one) for one in news if "\n" not in one]  # a worker writes none
                    if (latest := await self._figures.get()) is not shown:
                        events.append(event_of("figures", json.dumps(latest)))
                        shown = latest
                except ServingError as error:
                    events = [event_of("problem", json.dumps({"detail": str(error)}))]
                yield b"".join(events) or NOTHING_NEW
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._num_viewers -= 1

    async def _make_figures(self) -> dict[str, Any]:
        seen = await self._observer.observe()
        self._seen.append(seen)
        while self._seen[0].now.at_s < seen.now.at_s - _KEPT_S:
            self._seen.popleft()
        return await in_thread(figures, self._seen[0], seen, self._settings, pool=PAGES)


def add(app: Api, services: Services) -> None:
    """Add the page and what feeds it."""
    hub = Hub(services)

    @app.get("/ops")
    async def show_live_view(_: Exchange, request: IncomingRequest) -> Reply:
        return file_reply(request, "ops.html")

    @app.get("/ops/events")
    async def events(_: Exchange, request: IncomingRequest) -> Reply:
        if request.method == "HEAD":
            return Reply(b"", 200, [*EVENT_HEADERS])

        def is_over() -> bool:
            try:
                services.admit(bearer_of(request.headers))  # a key may have been revoked meanwhile
            except Unauthorized:
                return True
            return app.readiness.is_stopping

        return Reply(hub.watch(is_over), 200, [*EVENT_HEADERS])
