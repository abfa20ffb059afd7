"""Adds the check of API keys to the application, and the routes of sessions."""

from __future__ import annotations

from flask import g, request

from api.access.gate import OPEN_ROUTES, Gate
from api.http.app import Api
from api.http.replies import Reply
from scheduler.errors import NotFound


def add_access(app: Api) -> None:
    """Where the settings name a file of keys, nearly all routes ask for one. Raises KeyFileFault."""
    gate = Gate.of(app.mailbox, app.settings) if app.settings.api_keys_file else None
    if gate is not None:
        app.corrections.admit = gate.admit
        app.extensions["api-keys"] = gate.keys

        @app.before_request
        def check_key() -> None:
            if g.exchange.route not in OPEN_ROUTES:
                g.exchange.account = gate.admit(request.environ)

    def wanted() -> Gate:
        if gate is None:
            raise NotFound("This server asks for no API keys, so there are no sessions.")
        return gate

    @app.post("/session")
    def begin_session() -> Reply:
        return wanted().begin_session(request.environ)

    @app.delete("/session")
    def end_session() -> Reply:
        return wanted().end_session(request.environ)
