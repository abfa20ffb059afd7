"""The Flask application: /correct, /correct/batch, /requests, /healthz, /readyz, and every error as problem+json.

The handlers translate between HTTP and the `Corrector` they are given; nothing here knows of Redis or of queues.
No line that is logged holds text of a user.
"""

from __future__ import annotations

import secrets
import time
import traceback
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as WerkzeugMethodNotAllowed
from werkzeug.exceptions import NotFound as WerkzeugNotFound

from api import documents, event_stream, metrics, problems, request_input
from api.books import Books, Exchange
from api.corrector import Corrector
from api.gate import Gate
from api.jobs import Answer, BatchAnswer, BatchJob, Job, Pending, Wishes
from api.readiness import ready_document
from api.schema import Batch, CorrectionBody, parse_batch, parse_body
from api.trace_page import trace_response
from scheduler.errors import MethodNotAllowed, NotFound, Overloaded, ServingError
from scheduler.settings import Settings
from scheduler.trace_context import SpanSink
from scheduler.traces import Marks
from worker.mailbox.formats import is_request_id

_LOOK_AGAIN_S = 1
CORRECTOR = "miniserve.corrector"  # where the server finds the corrector to close
BOOKS = "miniserve.books"  # and what this replica writes down, for the server to report
READINESS = "miniserve.readiness"  # where a server that watches the queue itself puts what it knows
logger = structlog.get_logger(__name__)


def create_app(corrector: Corrector, settings: Settings, spans: SpanSink | None = None) -> Flask:
    """The application around a corrector; opens nothing by itself."""
    app = Flask("api", static_folder=None)
    app.extensions[CORRECTOR] = corrector
    books = app.extensions[BOOKS] = Books.of(settings, spans)
    app.config["SETTINGS"] = settings
    app.wsgi_app = Gate(app.wsgi_app, corrector.known_refusal, books, settings)
    app.url_map.strict_slashes = False
    app.before_request(_begin)
    app.after_request(_finish)
    _register_errors(app)

    @app.post("/correct")
    def correct() -> Response:
        return _serve_sentence(corrector, _job(parse_body(_read_json(settings))))

    @app.post("/correct/batch")
    def correct_batch() -> Response:
        return _serve(corrector, _batch_job(parse_batch(_read_json(settings))))

    @app.get("/requests/<request_id>")
    def find(request_id: str) -> Response:
        _name_exchange(request_id)
        return _outcome_response(_keeping(corrector).find(request_id))

    @app.delete("/requests/<request_id>")
    def cancel(request_id: str) -> Response:
        _name_exchange(request_id)
        call_off = _keeping(corrector).cancel(request_id)
        return _json_response({"request_id": request_id, "status": call_off.name.lower()})

    @app.get("/requests/<request_id>/trace")
    def trace(request_id: str) -> Response:
        _name_exchange(request_id)
        return trace_response(request, request_id, _keeping_traces(corrector, settings).trace(request_id))

    _register_looks(app, corrector, settings, books)
    return app


def _register_looks(app: Flask, corrector: Corrector, settings: Settings, books: Books) -> None:
    """What probes, balancers and Prometheus ask for."""

    @app.get("/healthz")
    def healthz() -> Response:
        return _json_response({"status": "ok"})

    @app.get("/readyz")
    def readyz() -> Response:
        watched = app.extensions.get(READINESS)
        return _json_response(ready_document(watched.check() if watched else corrector.check_ready()))

    @app.get("/metrics")
    def show_metrics() -> Response:
        seen = corrector.observe()
        if not corrector.keeps_requests:  # without a queue nobody else adds up what this replica counts
            seen = replace(seen, totals={**seen.totals, **books.tallies.totals()})
        return Response(metrics.metrics_text(seen, settings), content_type=metrics.MEDIA_TYPE)


def _exchange() -> Exchange:
    return g.exchange


def _begin() -> None:
    exchange = g.exchange = Exchange(secrets.token_hex(16), time.perf_counter())
    exchange.correlation_id = request_input.correlation_id(request.environ)


def _finish(response: Response) -> Response:
    exchange = _exchange()
    elapsed_s = time.perf_counter() - exchange.started
    response.headers["X-Request-ID"] = exchange.correlation_id or exchange.request_id
    response.headers["Server-Timing"] = documents.server_timing(exchange.timings, elapsed_s)
    if request.url_rule:
        exchange.route = request.url_rule.rule  # never the path: it may hold anything
    exchange.status = response.status_code
    books: Books = current_app.extensions[BOOKS]
    books.tallies.note_response(exchange.route, exchange.status, exchange.slug)
    if exchange.marks is None:
        _log(exchange, response.status_code, elapsed_s * 1e3)
    elif not exchange.is_stream:
        books.close(exchange, elapsed_s)
    return response


def _log(exchange: Exchange, status: int, elapsed_ms: float) -> None:
    """Of what never became a job: probes and questions are logged for those who debug, refusals and faults always."""
    log = logger.debug if status < 400 else logger.info
    about = {"correlation_id": exchange.correlation_id, "slug": exchange.slug}
    log(
        "request",
        request_id=exchange.request_id,
        method=request.method,
        route=request.url_rule.rule if request.url_rule else None,  # never the path: it may hold anything
        status=status,
        ms=round(elapsed_ms, 1),
        **{name: value for name, value in about.items() if value is not None},
    )


def _wishes() -> Wishes:
    environ = request.environ
    return Wishes(
        has_left=request_input.hang_up_detector(environ),
        within_s=request_input.deadline_s(environ),
        key=request_input.idempotency_digest(environ),
    )


def _keeping(corrector: Corrector) -> Corrector:
    if not corrector.keeps_requests:
        raise NotFound("This server keeps no requests: its mode has no queue.")
    return corrector


def _keeping_traces(corrector: Corrector, settings: Settings) -> Corrector:
    if not settings.trace_ttl_s:
        raise NotFound("This server keeps no traces: MINISERVE_TRACE_TTL_S is 0.")
    return _keeping(corrector)


def _job(body: CorrectionBody) -> Job:
    wishes = _wishes()
    return Job(_exchange().request_id, body.sentence, body.learner_id, wishes, _begin_job())


def _batch_job(body: Batch) -> BatchJob:
    wishes = _wishes()
    return BatchJob(_exchange().request_id, body.items, body.learner_id, wishes, _begin_job())


def _begin_job() -> Marks:
    books: Books = current_app.extensions[BOOKS]
    return books.open(_exchange(), request.environ.get("HTTP_TRACEPARENT"))


def _serve_sentence(corrector: Corrector, job: Job) -> Response:
    if not _wants_stream() or request_input.prefers_async(request.environ):
        return _serve(corrector, job)
    following = _keeping(corrector).follow(job)
    _exchange().request_id = following.request_id
    books: Books = current_app.extensions[BOOKS]
    _exchange().is_stream = True
    stream = event_stream.EventStream(following, partial(books.close_stream, _exchange()))
    response = Response(stream, content_type=event_stream.MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # nginx passes each event on at once
    return response


def _wants_stream() -> bool:
    """Whether the client would rather have events than JSON."""
    if event_stream.MEDIA_TYPE not in request.environ.get("HTTP_ACCEPT", "").lower():
        return False
    return request.accept_mimetypes.best_match(["application/json", event_stream.MEDIA_TYPE]) == event_stream.MEDIA_TYPE


def _serve(corrector: Corrector, job: Job | BatchJob) -> Response:
    if request_input.prefers_async(request.environ):
        outcome = _keeping(corrector).start(job)
        response = _outcome_response(outcome)
        if isinstance(outcome, Pending):
            response.headers["Location"] = f"/requests/{outcome.request_id}"
            response.headers["Preference-Applied"] = "respond-async"
        return response
    outcome = corrector.correct(job) if isinstance(job, Job) else corrector.correct_batch(job)
    _exchange().is_answer = True
    return _outcome_response(outcome)


def _name_exchange(request_id: str) -> None:
    """The request that is asked about, not the asking, is what logs and problems are to name."""
    if is_request_id(request_id):
        _exchange().request_id = request_id


def _outcome_response(outcome: Answer | BatchAnswer | Pending) -> Response:
    _exchange().request_id = outcome.request_id  # an earlier one's, where a key stood for that
    if isinstance(outcome, Pending):
        response = _json_response({"request_id": outcome.request_id, "status": outcome.phase.value})
        response.status_code = 202
        response.headers["Retry-After"] = str(_LOOK_AGAIN_S)
        return response
    _exchange().timings = outcome.timings
    return _json_response(documents.outcome_document(outcome))


def _read_json(settings: Settings) -> bytes:
    raw = request_input.read_body(request.environ, settings.max_body_bytes)
    request_input.check_media_type(request.environ)
    return raw


def _json_response(document: dict[str, Any]) -> Response:
    return Response(problems.to_json(document) + "\n", content_type="application/json")


def _problem_response(error: ServingError) -> Response:
    exchange = _exchange()
    exchange.slug = error.slug
    document = problems.problem(error, exchange.request_id)
    response = Response(problems.to_json(document) + "\n", status=error.status, content_type=problems.MEDIA_TYPE)
    if isinstance(error, Overloaded):
        response.headers["Retry-After"] = str(document["retry_after_s"])
    return response


def _register_errors(app: Flask) -> None:
    app.register_error_handler(ServingError, _problem_response)
    app.register_error_handler(WerkzeugNotFound, _not_found)
    app.register_error_handler(WerkzeugMethodNotAllowed, _method_not_allowed)
    app.register_error_handler(Exception, _unexpected)


def _not_found(error: WerkzeugNotFound) -> Response:
    return _problem_response(NotFound("There is nothing at this path; sentences go to POST /correct."))


def _method_not_allowed(error: WerkzeugMethodNotAllowed) -> Response:
    allowed = ", ".join(sorted(error.valid_methods or ()))
    response = _problem_response(MethodNotAllowed(f"{request.method} is not allowed here; allowed: {allowed}."))
    response.headers["Allow"] = allowed
    return response


def _unexpected(error: Exception) -> Response | HTTPException:
    if isinstance(error, HTTPException):
        return error
    # Not the message of the exception: it may quote the user's text.
    where = "".join(traceback.format_tb(error.__traceback__))
    request_id = _exchange().request_id
    logger.error("internal error", request_id=request_id, error_type=type(error).__name__, traceback=where)
    return _problem_response(ServingError(f"A fault of the server, logged with the request id {request_id}."))
