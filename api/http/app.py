"""The Flask application: its routes, and every error as a problem document.

The handlers translate between HTTP and the `Corrector` they are given; nothing here knows of Redis or of queues.
No line that is logged holds text of a user.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as WerkzeugMethodNotAllowed
from werkzeug.exceptions import NotFound as WerkzeugNotFound

from api.http import request_input
from api.http.correct import CorrectionEndpoint, PlainCorrections
from api.http.replies import Reply, closing_headers, error_reply, json_reply, outcome_reply
from api.http.trace_page import trace_reply
from api.service.corrector import Corrector
from api.service.readiness import check_status, ready_document
from api.telemetry import metrics
from api.telemetry.recorder import RequestRecorder
from api.telemetry.request_log import Exchange
from scheduler.errors import MethodNotAllowed, NotFound
from scheduler.settings import Settings
from scheduler.trace_context import SpanSink
from worker.mailbox.formats import is_request_id
from worker.mailbox.protocol import ApiMailbox

MAILBOX = "miniserve.mailbox"  # where the server finds the mailbox to close
RECORDER = "miniserve.recorder"  # and what this process records, for the server to write and report
READINESS = "miniserve.readiness"  # where a server that watches the queue itself puts what it knows


def create_app(corrector: Corrector, settings: Settings, spans: SpanSink | None = None) -> Flask:
    """The application around a corrector; opens nothing by itself."""
    app = Flask("api", static_folder=None)
    mailbox = corrector.mailbox
    recorder = RequestRecorder(settings, mailbox.keep_trace, spans)
    endpoint = CorrectionEndpoint(corrector, recorder, settings)
    app.extensions |= {MAILBOX: mailbox, RECORDER: recorder}
    app.config["SETTINGS"] = settings
    app.wsgi_app = PlainCorrections(app.wsgi_app, endpoint, recorder)
    app.url_map.strict_slashes = False
    app.before_request(_begin)
    app.after_request(lambda response: _finish(response, recorder))
    app.register_error_handler(Exception, _error_response)

    @app.post("/correct")
    def correct() -> Response:
        return _response(endpoint.correct(g.exchange, request.environ))

    @app.post("/correct/batch")
    def correct_batch() -> Response:
        return _response(endpoint.correct_batch(g.exchange, request.environ))

    _register_kept_requests(app, corrector, settings)
    _register_probes(app, mailbox, settings, recorder)
    return app


def _register_kept_requests(app: Flask, corrector: Corrector, settings: Settings) -> None:
    """The routes of a request that was accepted before."""

    @app.get("/requests/<request_id>")
    def find(request_id: str) -> Response:
        _name_exchange(request_id)
        return _response(outcome_reply(g.exchange, corrector.find(request_id)))

    @app.delete("/requests/<request_id>")
    def cancel(request_id: str) -> Response:
        _name_exchange(request_id)
        result = corrector.cancel(request_id)
        return _response(json_reply({"request_id": request_id, "status": result.name.lower()}))

    @app.get("/requests/<request_id>/trace")
    def trace(request_id: str) -> Response:
        _name_exchange(request_id)
        if settings.traces == "off":
            raise NotFound("This server keeps no traces: MINISERVE_TRACES is off.")
        return _response(trace_reply(request, request_id, corrector.mailbox.trace(request_id)))


def _register_probes(app: Flask, mailbox: ApiMailbox, settings: Settings, recorder: RequestRecorder) -> None:
    """The routes for probes, balancers and Prometheus."""

    @app.get("/healthz")
    def healthz() -> Response:
        return _response(json_reply({"status": "ok"}))

    @app.get("/readyz")
    def readyz() -> Response:
        watched = app.extensions.get(READINESS)
        return _response(json_reply(ready_document(watched.check() if watched else check_status(mailbox.status()))))

    @app.get("/metrics")
    def show_metrics() -> Response:
        seen = mailbox.observe()
        if not settings.uses_queue:  # without a queue nobody else adds up what this process counts
            seen = replace(seen, totals={**seen.totals, **recorder.tallies.totals()})
        return Response(metrics.metrics_text(seen, settings), content_type=metrics.MEDIA_TYPE)


def _begin() -> None:
    exchange = g.exchange = Exchange(secrets.token_hex(16), time.perf_counter())
    if request.url_rule:
        exchange.route = request.url_rule.rule
    exchange.correlation_id = request_input.correlation_id(request.environ)


def _finish(response: Response, recorder: RequestRecorder) -> Response:
    g.exchange.status = response.status_code
    elapsed_s = recorder.finish(g.exchange, request.method)
    response.headers.extend(closing_headers(g.exchange, elapsed_s))
    return response


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, reply.headers)


def _name_exchange(request_id: str) -> None:
    """Logs and problems are to name the request that is asked about, not the one that asks."""
    if is_request_id(request_id):
        g.exchange.request_id = request_id


def _error_response(error: Exception) -> Response | HTTPException:
    if isinstance(error, WerkzeugNotFound):
        error = NotFound("There is nothing at this path; sentences go to POST /correct.")
    elif isinstance(error, WerkzeugMethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        reply = error_reply(g.exchange, MethodNotAllowed(f"{request.method} is not allowed here; allowed: {allowed}."))
        reply.headers.append(("Allow", allowed))
        return _response(reply)
    elif isinstance(error, HTTPException):
        return error
    return _response(error_reply(g.exchange, error))
