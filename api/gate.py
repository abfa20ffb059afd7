"""The gate before the application: while the queue is known to be full it refuses POST /correct at half the cost.

A refusal by way of Flask, the tokenizer and Redis costs a replica 1.5 ms of CPU, and a thousand a second of them would
take the cores from the very workers that everybody waits for. What may be answered although the queue is full (an
`Idempotency-Key` seen before) or is not simple (a body of unknown length, a batch) goes the long way.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from api import documents, problems, request_input
from api.books import Books, Exchange
from scheduler.errors import InvalidHeader, QueueFull
from scheduler.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

_ROUTE = "/correct"
_STATUS = "503 SERVICE UNAVAILABLE"


class Gate:
    """A WSGI application around another."""

    def __init__(
        self, app: WSGIApplication, known_refusal: Callable[[], QueueFull | None], books: Books, settings: Settings
    ) -> None:
        self._app = app
        self._known_refusal = known_refusal
        self._books = books
        self._max_body_bytes = settings.max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        refusal = self._known_refusal() if self._may_refuse(environ) else None
        if refusal is None:
            return self._app(environ, start_response)
        exchange = Exchange(secrets.token_hex(16), time.perf_counter(), route=_ROUTE, status=refusal.status)
        try:
            exchange.correlation_id = request_input.correlation_id(environ)
        except InvalidHeader:
            return self._app(environ, start_response)
        return self._refuse(exchange, refusal, start_response)

    def _may_refuse(self, environ: dict[str, Any]) -> bool:
        if environ["REQUEST_METHOD"] != "POST" or environ["PATH_INFO"] != _ROUTE:
            return False
        length = environ.get("CONTENT_LENGTH") or ""
        is_simple = length.isdecimal() and int(length) <= self._max_body_bytes  # the server reads past it
        return is_simple and "HTTP_IDEMPOTENCY_KEY" not in environ

    def _refuse(self, exchange: Exchange, refusal: QueueFull, start_response: StartResponse) -> Iterable[bytes]:
        exchange.slug = refusal.slug
        document = problems.problem(refusal, exchange.request_id)
        body = (problems.to_json(document) + "\n").encode()
        elapsed_s = time.perf_counter() - exchange.started
        headers = [
            ("Content-Type", problems.MEDIA_TYPE),
            ("Content-Length", str(len(body))),
            ("Retry-After", str(document["retry_after_s"])),
            ("X-Request-ID", exchange.correlation_id or exchange.request_id),
            ("Server-Timing", documents.server_timing(exchange.timings, elapsed_s)),
        ]
        start_response(_STATUS, headers)
        self._books.close_at_gate(exchange, elapsed_s)
        return [body]
