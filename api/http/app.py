"""The Flask application: its routes, and every error as a problem document.

The handlers translate between HTTP and the `Corrector` they are given; nothing here knows of Redis or of queues.
No line that is logged holds text of a user.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as WerkzeugMethodNotAllowed
from werkzeug.exceptions import NotFound as WerkzeugNotFound

from api.http import request_input
from api.http.correct import CorrectionEndpoint
from api.http.replies import Reply, closing_headers, error_reply, json_reply
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from api.service.readiness import Readiness, check_status, ready_document
from api.telemetry.recorder import RequestRecorder
from scheduler.errors import MethodNotAllowed, NotFound
from scheduler.settings import Settings
from worker.mailbox.protocol import ApiMailbox, Reports


class Api(Flask):
    """The application, with what a server needs of it."""

    settings: Settings
    mailbox: ApiMailbox  # to be closed in the end
    corrections: CorrectionEndpoint
    recorder: RequestRecorder  # what it records is for the server to write and report
    reports: Reports | None = None  # of learners, for the server to send with those of the recorder
    readiness: Readiness | None = None  # of a server that watches the queue itself

    def ready_document(self) -> dict[str, Any]:
        """The body of GET /readyz. Raises NotReady, ShuttingDown."""
        if self.readiness is not None:
            return self.readiness.document()
        return ready_document(check_status(self.mailbox.status()))


def create_app(corrector: Corrector, settings: Settings) -> Api:
    """The application around a corrector; opens nothing by itself."""
    app = Api("api", static_folder=None)
    app.settings, app.mailbox = settings, corrector.mailbox
    app.recorder = RequestRecorder(settings)
    endpoint = app.corrections = CorrectionEndpoint(corrector, app.recorder, settings)
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False  # it would redirect to the host that the client names
    app.before_request(_begin)
    app.after_request(lambda response: _finish(response, app.recorder))
    app.register_error_handler(Exception, _error_reply)

    @app.post("/correct")
    def correct() -> Reply:
        return endpoint.correct(g.exchange, request.environ)

    @app.get("/healthz")
    def healthz() -> Reply:
        return json_reply({"status": "ok"})

    @app.get("/readyz")
    def readyz() -> Reply:
        return json_reply(app.ready_document())

    return app


def _begin() -> None:
    exchange = g.exchange = Exchange(secrets.token_hex(16), time.perf_counter())
    if request.url_rule:
        exchange.route = request.url_rule.rule
    request_input.check_headers(request.environ)
    exchange.correlation_id = request_input.correlation_id(request.environ)


def _finish(response: Response, recorder: RequestRecorder) -> Response:
    g.exchange.status = response.status_code
    elapsed_s = recorder.finish(g.exchange, request.method)
    response.headers.extend(closing_headers(g.exchange, elapsed_s))
    return response


def _error_reply(error: Exception) -> Reply | HTTPException:
    if isinstance(error, WerkzeugNotFound):
        error = NotFound("There is nothing at this path; sentences go to POST /correct.")
    elif isinstance(error, WerkzeugMethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        reply = error_reply(g.exchange, MethodNotAllowed(f"{request.method} is not allowed here; allowed: {allowed}."))
        reply.headers.append(("Allow", allowed))
        return reply
    elif isinstance(error, HTTPException):
        return error
    return error_reply(g.exchange, error)
