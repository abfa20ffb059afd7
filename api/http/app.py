"""The Flask application: its routes, and every error as a problem document.

The handlers translate between HTTP and the `Corrector` they are given; nothing here knows of Redis or of queues.
No line that is logged holds text of a user.
"""

from __future__ import annotations

import secrets
import time
from functools import partial

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as WerkzeugMethodNotAllowed
from werkzeug.exceptions import NotFound as WerkzeugNotFound

from api.http import request_input
from api.http.correct import CorrectionEndpoint
from api.http.replies import Reply, error_reply, json_reply
from api.service.exchange import Exchange
from api.service.readiness import Readiness
from api.services import Services
from scheduler.errors import MethodNotAllowed, NotFound
from worker.queue.protocol import Reports


class Api(Flask):
    """The application, with what a server needs of it."""

    services: Services
    corrections: CorrectionEndpoint
    reports: list[Reports]  # for the server to send with those of the recorder; plug-ins add theirs
    readiness: Readiness
    # Patterns of paths, for the event loop, which knows no routes; plug-ins add theirs.
    body_paths: list[str]  # whose views read a body, for which no thread waits, and wait for the model
    waiting_paths: list[str]  # whose GET may wait
    redis_paths: list[str]  # whose GET asks Redis, which may hang


def create_app(services: Services) -> Api:
    """The application without plug-ins; opens nothing by itself."""
    app = Api("api", static_folder=None)
    app.services, app.reports, app.readiness = services, [], Readiness(services.queue.status)
    app.body_paths, app.waiting_paths, app.redis_paths = [r"/correct/?$"], [], []
    endpoint = app.corrections = CorrectionEndpoint(services)
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False  # it would redirect to the host that the client names
    app.before_request(_begin)
    app.after_request(partial(_finish, app))
    app.register_error_handler(Exception, _error_reply)

    @app.post("/correct")
    def correct() -> Reply:
        return endpoint.correct(g.exchange, request.environ)

    @app.get("/healthz")
    def healthz() -> Reply:
        return json_reply({"status": "ok"})

    @app.get("/readyz")
    def readyz() -> Reply:
        return json_reply(app.readiness.document())

    return app


def _begin() -> None:
    exchange = g.exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter())
    if request.url_rule:
        exchange.route = request.url_rule.rule
    request_input.check_headers(request.environ)
    exchange.correlation_id = request_input.correlation_id(request.environ)


def _finish(app: Api, response: Response) -> Response:
    g.exchange.status = response.status_code
    elapsed_s = app.services.recorder.finish(g.exchange, request.method)
    response.headers.extend(app.corrections.closing_headers(g.exchange, request.environ, elapsed_s))
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
