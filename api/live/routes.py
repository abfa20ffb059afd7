"""GET /ops and its events."""

from __future__ import annotations

from flask import g, request

from api.http import request_input
from api.http.app import Api
from api.http.lines import EVENT_HEADERS
from api.http.replies import Reply
from api.live.hub import Hub
from api.observe.metrics import goals_of
from api.pages.files import STATIC, PageFile
from scheduler.errors import Unauthorized


def add_live_view(app: Api) -> None:
    """Add the page and what feeds it."""
    page = PageFile.read(STATIC / "ops.html")
    hub = Hub(app.mailbox, goals_of(app.settings), app.mailbox.ask)

    @app.get("/ops")
    def show_live_view() -> Reply:
        return page.reply()

    @app.get("/ops/events")
    def events() -> Reply:
        headers = [*EVENT_HEADERS]
        if request.method == "HEAD":
            return Reply(b"", 200, headers)
        if app.settings.mode == "sync":  # one request at a time: a stream would keep all others waiting
            return Reply(b"retry: 1000\n\n" + hub.snapshot(), 200, headers)
        environ, admit = request.environ, app.corrections.admit

        has_left = request_input.hang_up_detector(environ)

        def is_over() -> bool:
            if has_left is not None and has_left():
                return True
            if app.readiness is not None and app.readiness.is_stopping:
                return True
            try:
                if admit is not None:
                    admit(environ)  # a key may have been revoked meanwhile
            except Unauthorized:
                return True
            return False

        return Reply(hub.watch(is_over, app.corrections.client_of(g.exchange, environ)), 200, headers)
