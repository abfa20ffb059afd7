"""GET /ops and its events."""

from __future__ import annotations

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest, bearer_of
from api.http.lines import EVENT_HEADERS
from api.http.replies import Reply
from api.live.hub import Hub
from api.pages.files import file_reply
from api.service.exchange import Exchange
from scheduler.errors import Unauthorized


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
