"""The application: its routes, and what plug-ins add to them.

Each view is awaited by the event loop, with the exchange and the request (api/http/handler.py); Flask holds the table
of routes. Nothing here knows of Redis or of queues.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flask import Flask

from api.http.correct import Corrections
from api.http.incoming import Environ
from api.http.replies import Reply, json_reply
from api.service.exchange import Exchange
from api.service.readiness import Readiness
from api.services import Services
from worker.queue.protocol import Reports


class Api(Flask):
    """The application, with what a server needs of it."""

    def __init__(self, services: Services) -> None:
        super().__init__("api", static_folder=None)
        self.url_map.strict_slashes = False
        self.url_map.merge_slashes = False  # it would redirect to the host that the client names
        self.services = services
        self.readiness = Readiness()
        self.corrections = Corrections(services)
        self.reports: list[Reports] = []  # for the server to send with those of the recorder
        # Plug-ins add to these.
        self.begins: list[Callable[[Exchange, Environ], Reply | None]] = []  # of a head; the first reply counts
        self.ends: list[Callable[[Exchange, Environ, Reply], Reply]] = []  # of every answer, but to probes
        self.other_paths: list[tuple[re.Pattern[str], str]] = []  # and in whose place they stand


def create_app(services: Services) -> Api:
    """The application without plug-ins; opens nothing by itself."""
    app = Api(services)
    app.post("/correct")(app.corrections.correct)

    # The handler answers these two itself, unless they are spelled otherwise: /healthz/.
    @app.get("/healthz")
    async def healthz(*_: object) -> Reply:
        return json_reply({"status": "ok"})

    @app.get("/readyz")
    async def readyz(*_: object) -> Reply:
        return json_reply(app.readiness.document())

    return app
