"""Replies that are written without an application: to probes, to connections refused, to heads that cannot be read."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from gunicorn.http.errors import ParseException
from gunicorn.workers.base import Worker

from api.http.replies import SECURITY_HEADERS, Reply, error_reply, json_reply
from api.service.exchange import Exchange
from api.service.readiness import Readiness
from api.telemetry.recorder import RequestRecorder
from scheduler.errors import InvalidHeader, Overloaded, ServingError

CLIENT_STALL_S = 30.0  # a client that neither sends nor reads for so long is cut off


class AnswersUnreadable(Worker):
    """Goes before a gunicorn worker class, whose own answer to a broken request line or header is an HTML page."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        if not isinstance(exc, ParseException):
            if req is not None:
                req.uri = req.path  # it is logged, and a query may hold a text
            super().handle_error(req, client, addr, exc)
            return
        error = InvalidHeader("The request line or a header cannot be read, or is too long.")
        with suppress(OSError):  # the client has left
            client.sendall(refusal(self.wsgi.recorder, error))


def probe_reply(path: str, readiness: Readiness, keeps_alive: bool) -> bytes:
    """The reply to GET /healthz or /readyz."""
    try:
        document = {"status": "ok"} if path == "/healthz" else readiness.document()
    except ServingError as error:
        exchange = Exchange(secrets.token_hex(16), 0.0)
        return _written(error_reply(exchange, error), exchange.request_id, keeps_alive)
    return _written(json_reply(document), secrets.token_hex(16), keeps_alive)


def refusal(recorder: RequestRecorder, error: ServingError, asked: bytes = b"") -> bytes:
    """The reply to a request that comes to no application; it is logged and counted as those that do."""
    exchange = Exchange(secrets.token_hex(16), time.perf_counter(), status=error.status)
    exchange.is_shed = isinstance(error, Overloaded)
    reply = error_reply(exchange, error)
    recorder.finish(exchange, "-")
    if b"/v2/" in asked[:20]:  # LanguageTool's clients show it as it comes
        body = f"Error: {error}".encode()
        about = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        reply = Reply(body, reply.status, list((dict(reply.headers) | about).items()))
    return _written(reply, exchange.request_id, keeps_alive=False)


def _written(reply: Reply, request_id: str, keeps_alive: bool) -> bytes:
    connection = "keep-alive" if keeps_alive else "close"
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        f"Date: {formatdate(usegmt=True)}",
        *[f"{name}: {value}" for name, value in reply.headers + SECURITY_HEADERS],
        f"X-Request-ID: {request_id}",
        f"Connection: {connection}",
    ]
    assert isinstance(reply.body, bytes)  # no stream is given here
    return "\r\n".join([*lines, "", ""]).encode() + reply.body
