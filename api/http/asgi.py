"""The API as an ASGI application: what is asked most is answered in the event loop, all else by Flask in threads.

In the loop: POST /correct as JSON, and probes, which wait for nothing. For Flask the body is read before a thread is
taken, but where it may be refused unread.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from a2wsgi import WSGIMiddleware

from api.http import request_input
from api.http.app import Api
from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS, Reply, error_reply, json_reply
from api.service.exchange import Exchange
from scheduler.errors import BodyTooLarge, InvalidHeader, ServingError

BODY_S = 30.0  # from the end of a head to the end of its body
MAX_FIELD_BYTES = 8190  # of a header
_THREADS = 256  # requests of Flask at once
_MOST_TOO_LONG = 1  # bodies that are declared too long, refused at once
_REFUSAL_EVERY_S = 0.004
_ROUTE = "/correct"
_READING = ("/correct", "/correct/batch", "/v2/check")
_NATIVE_PROBES = ("/healthz", "/readyz")

Scope = dict[str, Any]
Receive = Callable[[], Any]
Send = Callable[[dict[str, Any]], Any]


def _raw(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


_SECURITY = _raw(SECURITY_HEADERS)
_KEPT = _raw([KEPT_BY_BROWSERS])[0]


@lru_cache(1024)
def _environ_name(name: bytes) -> str:
    text = name.decode("latin-1").upper().replace("-", "_")
    return text if text in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{text}"


def environ_of(scope: Scope) -> dict[str, Any]:
    """What of a request the handlers read, as WSGI names it. Raises InvalidHeader."""
    environ = {
        "REQUEST_METHOD": scope["method"], "PATH_INFO": scope["path"],
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}", "asgi.scope": scope,
    }  # fmt: skip
    if (client := scope["client"]) is not None:
        environ["REMOTE_ADDR"] = client[0]
    for name, value in scope["headers"]:
        if len(value) > MAX_FIELD_BYTES:
            raise InvalidHeader("The request line or a header cannot be read, or is too long.")
        key = _environ_name(name)
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    return environ


class _Client:
    """Keeps the protocol `Client` of api/http/correct.py."""

    __slots__ = ("_connection", "_receive", "_too_long", "when_left")

    def __init__(self, connection: Any, receive: Receive, too_long: asyncio.Semaphore) -> None:
        self._connection = connection
        self._receive = receive
        self._too_long = too_long
        self.when_left = connection.when_left

    async def read_body(self, environ: dict[str, Any], limit_bytes: int) -> bytes:
        try:
            request_input.check_length(environ, limit_bytes)
        except ServingError:
            async with self._too_long:  # each costs as much as an answer, and its client nothing
                await asyncio.sleep(_REFUSAL_EVERY_S)
            raise
        body = await self.read(limit_bytes)
        request_input.check_body(environ, body, limit_bytes)
        return body

    async def read(self, limit_bytes: int) -> bytes:
        """The body, or as much of it as is over the limit. Raises MalformedJson."""
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            if message["type"] == "http.disconnect" or self._connection.is_broken:
                raise request_input.incomplete()
            return body
        parts, size = [body], len(body)
        try:
            async with asyncio.timeout(BODY_S):
                while message.get("more_body") and size <= limit_bytes:
                    if self._connection.is_cut and not message["body"]:
                        is_too_long = self._connection.is_too_long
                        raise request_input.body_too_large(limit_bytes) if is_too_long else request_input.incomplete()
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise request_input.incomplete()
                    parts.append(message["body"])
                    size += len(message["body"])
        except TimeoutError:
            raise request_input.incomplete() from None
        return b"".join(parts)


class AsgiApi:
    """Used in one event loop."""

    def __init__(self, api: Api) -> None:
        self._api = api
        flask: Any = api.wsgi_app
        self._flask: Any = WSGIMiddleware(flask, workers=_THREADS)
        self._too_long = asyncio.Semaphore(_MOST_TOO_LONG)
        self.num_in_flight = 0
        self.closes: Callable[[], bool] = lambda: False  # whether connections are to be closed behind their answers
        # Before anything of a request is read. Raises QueueFull, RateLimited; returns what is called in the end.
        self.enter: Callable[[Any, dict[str, Any]], Callable[[], None] | None] = lambda *_: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method, connection = scope["path"], scope["method"], scope["state"]["connections"][scope["client"]]
        scope["state"]["connection"] = connection
        self.num_in_flight += 1
        leave = None
        try:
            try:
                environ = environ_of(scope)
                if path in _NATIVE_PROBES and method == "GET" and "HTTP_X_REQUEST_ID" not in environ:
                    await self._send(connection, environ, self.probe(path), send)
                    return
                leave = self.enter(connection, environ)
            except ServingError as error:
                connection.cycle.keep_alive = False
                await self._send(connection, {}, self._refusal(error, path), send)
                return
            client = _Client(connection, receive, self._too_long)
            if path == _ROUTE and method == "POST" and self._api.corrections.is_plain(environ):
                exchange = Exchange(secrets.token_hex(16), time.perf_counter(), _ROUTE)
                await self._send(
                    connection, environ, await self._api.corrections.answer(exchange, environ, client), send
                )
            else:
                await self._pass_on(scope, environ, client, receive, send)
        finally:
            if leave is not None:
                leave()
            self.num_in_flight -= 1

    def probe(self, path: str) -> Reply:
        exchange = Exchange(secrets.token_hex(16), 0.0)
        try:
            reply = json_reply({"status": "ok"} if path == "/healthz" else self._api.ready_document())
        except ServingError as error:
            reply = error_reply(exchange, error)
        reply.headers.append(("X-Request-ID", exchange.request_id))
        return reply

    def _refusal(self, error: ServingError, path: str) -> Reply:
        return refusal(self._api, error, path.startswith("/v2/"))

    async def _send(self, connection: Any, environ: dict[str, Any], reply: Reply, send: Send) -> None:
        connection.before_answer(self.closes(), request_input.declared_length(environ))
        headers = [*_raw(reply.headers), *_SECURITY]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def _pass_on(
        self, scope: Scope, environ: dict[str, Any], client: _Client, receive: Receive, send: Send
    ) -> None:
        """To Flask."""
        connection = scope["state"]["connection"]
        declared, limit_bytes = request_input.declared_length(environ), self._api.settings.max_body_bytes
        body: bytes | Exception | None = None
        # Who asks whether to send a body is told by the view that reads it.
        path_reads = scope["path"] in _READING and "HTTP_EXPECT" not in environ
        if declared is not None and declared > limit_bytes:
            async with self._too_long:
                await asyncio.sleep(_REFUSAL_EVERY_S)
        elif path_reads and declared != 0 and not self._api.corrections.may_refuse_unread(environ):
            try:
                body = await client.read(limit_bytes)
            except BodyTooLarge:
                body = bytes(limit_bytes + 1)  # of chunks that take more than they bring
            except ServingError as error:
                body = OSError(str(error))

        async def give_body() -> dict[str, Any]:
            if isinstance(body, Exception):
                raise body
            if body is None:
                return {"type": "http.request", "body": await client.read(limit_bytes) if declared != 0 else b""}
            return {"type": "http.request", "body": body}

        head: list[dict[str, Any]] = []

        async def send_with_headers(message: dict[str, Any]) -> None:
            """The head leaves with the first bytes of the body, in one packet."""
            if message["type"] == "http.response.start":
                connection.before_answer(self.closes(), declared)
                headers = message["headers"]
                headers.extend(_SECURITY[:1] if _KEPT in headers else _SECURITY)
                head.append(message)
                return
            while head:
                await send(head.pop())
            await send(message)

        await self._flask(scope, give_body, send_with_headers)


def refusal(api: Api, error: ServingError, is_of_languagetool: bool = False) -> Reply:
    """Of what comes to no handler; it is logged and counted as what does."""
    exchange = Exchange(secrets.token_hex(16), time.perf_counter(), status=error.status)
    exchange.is_shed = math.isfinite(getattr(error, "retry_after_s", math.inf))
    reply = error_reply(exchange, error)
    api.recorder.finish(exchange, "-")
    if is_of_languagetool:  # its clients show it as it comes
        body = f"Error: {error}".encode()
        about = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        reply = Reply(body, reply.status, list((dict(reply.headers) | about).items()))
    reply.headers.append(("X-Request-ID", exchange.request_id))
    return reply
