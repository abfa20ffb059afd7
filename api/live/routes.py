"""GET /ops and its events."""

from __future__ import annotations

from flask import Response, g, request

from api.http import request_input
from api.http.app import Api
from api.http.lines import EVENT_HEADERS
from api.http.replies import Reply
from api.live.hub import Hub
from api.pages.files import file_reply
from api.services import Services
from scheduler.errors import Unauthorized


def add(app: Api, services: Services) -> None:
    """Add the page and what feeds it."""
    hub = Hub(services)
    app.waiting_paths.append(r"/ops/events/?$")

    @app.get("/ops")
    def show_live_view() -> Response:
        return file_reply("ops.html")

    @app.get("/ops/events")
    def events() -> Reply:
        headers = [*EVENT_HEADERS]
        if request.method == "HEAD":
            return Reply(b"", 200, headers)
        environ = request.environ
        has_left = request_input.hang_up_detector(environ)

        def is_over() -> bool:
            try:
                services.admit(request_input.bearer_of(environ))  # a key may have been revoked meanwhile
            except Unauthorized:
                return True
            return app.readiness.is_stopping or (has_left is not None and has_left())

        return Reply(hub.watch(is_over, app.corrections.client_of(g.exchange.account, environ)), 200, headers)
