"""GET /ops and its events. Streams look at the system; nothing does while nobody watches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest, bearer_of
from api.http.lines import EVENT_HEADERS, NOTHING_NEW, event_of
from api.http.replies import Reply
from api.pages.files import file_reply
from api.service.exchange import Exchange
from api.service.readiness import Readiness
from scheduler.errors import RateLimited, ServingError, Unauthorized

MOST_VIEWERS = 32  # of one process
LOOK_EVERY_S = 0.25


class Hub:
    """Used in an event loop."""

    def __init__(self, services: Services, readiness: Readiness) -> None:
        self._observer, self._readiness = services.observer, readiness
        self._num_viewers = 0

    def watch(self, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        """The body of an event stream. Raises RateLimited where too many watch already."""
        if self._num_viewers >= MOST_VIEWERS:
            raise RateLimited(f"{MOST_VIEWERS} viewers watch through this replica; try again later.", 10.0)
        self._num_viewers += 1
        return self._events(is_over)

    async def _events(self, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        shown, place = b"", ""
        try:
            yield b"retry: 1000\n\n"
            while not is_over():
                batches: list[bytes] = []
                try:
                    news, place = await self._observer.news(place)
                    batches = [event_of("batch", one) for one in news if "\n" not in one]  # a worker writes none
                    state = event_of("state", json.dumps(self._readiness.document()))
                except ServingError as error:
                    state = event_of("problem", json.dumps({"detail": str(error)}))
                yield b"".join([b"" if state == shown else state, *batches]) or NOTHING_NEW
                shown = state
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._num_viewers -= 1


def add(app: Api, services: Services) -> None:
    """Add the page and what feeds it."""
    hub = Hub(services, app.readiness)

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
