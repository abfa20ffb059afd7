"""The API as an ASGI application: what is asked most is answered in the event loop, all else by Flask in threads.

In the loop: POST /correct as JSON, and probes, which wait for nothing. For Flask the body is read before a thread is
taken, but where it may be refused unread.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from werkzeug.http import HTTP_STATUS_CODES

from api.http import request_input
from api.http.app import Api
from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS, Reply, error_reply, internal_error, json_reply
from api.http.threads import FlaskThreads
from api.service.exchange import Exchange
from scheduler.errors import BodyTooLarge, InvalidHeader, ServingError

BODY_S = 30.0  # from the end of a head to the end of its body
MAX_FIELD_BYTES = 8190  # of a header
_MAX_HEADERS = 100  # each takes time in the event loop
_REFUSAL_EVERY_S = 0.002  # one takes a fifteenth of it, and its client as much
CREDIT_S = 0.1  # so much of the time before may be used at once: clients that obey Retry-After come in bursts
_MOST_REFUSED = 8  # in one iteration of the loop
TOO_LONG_EVERY_S = 0.004  # of a body declared too long: it is lingered on
_ROUTE = "/correct"
_READING = ("/correct", "/batch", "/check")  # so end the paths whose views read a body: no thread may wait for it
_NATIVE_PROBES = ("/healthz", "/readyz")

Scope = dict[str, Any]
Receive = Callable[[], Any]
Send = Callable[[dict[str, Any]], Any]
# Called before anything of a request is read. Raises QueueFull, RateLimited; returns what is called in the end.
Enter = Callable[[Any, dict[str, Any]], Callable[[], None] | None]


def _raw(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


_SECURITY = _raw(SECURITY_HEADERS)
_STARTS = {code: f"HTTP/1.1 {code} {phrase}\r\n".encode() for code, phrase in HTTP_STATUS_CODES.items()}
_KEPT = _raw([KEPT_BY_BROWSERS])[0]


@lru_cache(1024)
def _environ_name(name: bytes) -> str:
    text = name.decode("latin-1").upper().replace("-", "_")
    return text if text in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{text}"


def environ_of(scope: Scope) -> dict[str, Any]:
    """What of a request the handlers read, as WSGI names it. Raises InvalidHeader."""
    if len(scope["headers"]) > _MAX_HEADERS or scope["http_version"] not in ("1.1", "1.0"):
        raise _unreadable()
    environ = {
        "REQUEST_METHOD": scope["method"], "PATH_INFO": scope["path"],
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}", "asgi.scope": scope,
    }  # fmt: skip
    if (client := scope["client"]) is not None:
        environ["REMOTE_ADDR"] = client[0]
    for at, (name, value) in enumerate(scope["headers"]):
        if value[-1:].isspace():  # httptools leaves it
            value = value.rstrip()
            scope["headers"][at] = (name, value)
        if len(value) > MAX_FIELD_BYTES:
            raise _unreadable()
        key = _environ_name(name)
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]},{text}" if key in environ else text
    if "HTTP_HOST" not in environ and scope["http_version"] == "1.1":  # one of the two parsers leaves it
        raise InvalidHeader("A request of HTTP/1.1 needs a Host.")
    return environ


def _unreadable() -> InvalidHeader:
    return InvalidHeader("The request line or a header cannot be read or is too long, or there are too many headers.")


class Turns:
    """Refused requests one after the other, so that they take a bounded part of this process: to send one again at once
    costs a client nothing, and its refusal takes CPU from those that are answered.
    """

    def __init__(self) -> None:
        self._free_s = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()

    async def wait(self, cost_s: float) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._waiting and now >= self._free_s:
            self._free_s = max(self._free_s, now - CREDIT_S) + cost_s
            return
        if not self._waiting:
            loop.call_at(self._free_s, self._go_on, loop)
        future = loop.create_future()
        self._waiting.append((future, cost_s))
        await future

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Where this comes late the loop has much to do: a few catch up."""
        now = loop.time()
        for _ in range(_MOST_REFUSED):
            if not self._waiting or now < self._free_s:
                break
            future, cost_s = self._waiting.popleft()
            self._free_s += cost_s
            if not future.done():
                future.set_result(None)
        else:
            self._free_s = max(self._free_s, now)
        if self._waiting:
            loop.call_at(self._free_s, self._go_on, loop)


class ReadingClient:
    """Keeps the protocol `Client` of api/http/correct.py."""

    __slots__ = ("_connection", "_receive", "_turns", "when_left")

    def __init__(self, connection: Any, receive: Receive, turns: Turns) -> None:
        self._connection = connection
        self._receive = receive
        self._turns = turns
        self.when_left = connection.when_left

    async def wait_for_refusal(self) -> None:
        await self._turns.wait(_REFUSAL_EVERY_S)

    async def read_body(self, environ: dict[str, Any], limit_bytes: int) -> bytes:
        try:
            declared = request_input.check_length(environ, limit_bytes)
        except ServingError:
            await self._turns.wait(TOO_LONG_EVERY_S)
            raise
        body = await self.read(limit_bytes)
        request_input.check_body(environ, body, declared, limit_bytes)
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
                    if self._connection.is_cut:
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

    def __init__(self, api: Api, enter: Enter = lambda *_: None, closes: Callable[[], bool] = lambda: False) -> None:
        """`closes`: whether connections are to be closed behind their answers."""
        self._api, self._enter, self._closes = api, enter, closes
        self._flask = FlaskThreads(api.wsgi_app)
        self._turns = Turns()
        self.num_in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method, connection = scope["path"], scope["method"], scope["state"]["connection"]
        self.num_in_flight += 1
        leave = None
        try:
            try:
                environ = environ_of(scope)
                if path in _NATIVE_PROBES and method == "GET" and "HTTP_X_REQUEST_ID" not in environ:
                    await self._send(connection, environ, self.probe(path), send)
                    return
                leave = self._enter(connection, environ)
                client = ReadingClient(connection, receive, self._turns)
                if path == _ROUTE and method == "POST" and self._api.corrections.is_plain(environ):
                    exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter(), route=_ROUTE)
                    await self._send(
                        connection, environ, await self._api.corrections.answer(exchange, environ, client), send
                    )
                else:
                    await self._pass_on(scope, environ, client, receive, send)
            except Exception as error:
                if connection.cycle.response_started:
                    raise
                connection.cycle.keep_alive = False
                await self._send(connection, {}, self._refusal(error, path), send)
        finally:
            if leave is not None:
                leave()
            self.num_in_flight -= 1

    def probe(self, path: str) -> Reply:
        exchange = Exchange(secrets.token_hex(16))
        try:
            reply = json_reply({"status": "ok"} if path == "/healthz" else self._api.readiness.document())
        except ServingError as error:
            reply = error_reply(exchange, error)
        reply.headers.append(("X-Request-ID", exchange.request_id))
        return reply

    def _refusal(self, error: Exception, path: str) -> Reply:
        return refusal(self._api, error, path.startswith("/v2/"))

    async def _send(self, connection: Any, environ: dict[str, Any], reply: Reply, send: Send) -> None:
        added = connection.before_answer(self._closes(), request_input.declared_length(environ))
        if connection.takes_whole_answers:
            connection.answer(written(reply, connection.server_state.default_headers, connection.cycle.keep_alive))
            return
        headers = [*_raw(reply.headers), *_SECURITY, *added]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        connection.release()

    async def _pass_on(
        self, scope: Scope, environ: dict[str, Any], client: ReadingClient, receive: Receive, send: Send
    ) -> None:
        """To Flask."""
        connection = scope["state"]["connection"]
        declared, limit_bytes = request_input.declared_length(environ), self._api.services.settings.max_body_bytes
        body: bytes | Exception | None = None
        path = scope["path"].rstrip("/")  # routes are found by more names than one
        if declared is not None and declared > limit_bytes:
            await self._turns.wait(TOO_LONG_EVERY_S)
        elif path.endswith(_READING) and declared != 0 and not self._api.corrections.refuses_unread(environ, path):
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

        async def send_with_headers(message: dict[str, Any]) -> None:
            """The head leaves with the first bytes of the body, in one packet."""
            if message["type"] == "http.response.start":
                headers = message["headers"]
                headers.extend(_SECURITY[:1] if _KEPT in headers else _SECURITY)
                headers.extend(connection.before_answer(self._closes(), declared))
                await send(message)
            else:
                await send(message)
                connection.release()

        await self._flask(scope, give_body, send_with_headers)


def refusal(api: Api, error: Exception, is_of_languagetool: bool = False) -> Reply:
    """Of what no handler answers; it is logged and counted as what one does."""
    exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter())
    if not isinstance(error, ServingError):
        error = internal_error(error, exchange.request_id)
    exchange.status = error.status
    exchange.is_shed = math.isfinite(getattr(error, "retry_after_s", math.inf))
    reply = error_reply(exchange, error)
    api.services.recorder.finish(exchange, "-")
    if is_of_languagetool:  # its clients show it as it comes
        body = f"Error: {error}".encode()
        about = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        reply = Reply(body, reply.status, list((dict(reply.headers) | about).items()))
    reply.headers.append(("X-Request-ID", exchange.request_id))
    return reply


def written(reply: Reply, first: list[tuple[bytes, bytes]], keeps_alive: bool) -> bytes:
    """A whole answer as it goes over the wire; `first`: headers in front of its own."""
    assert isinstance(reply.body, bytes)  # it is no stream
    headers = reply.headers + SECURITY_HEADERS + ([] if keeps_alive else [("connection", "close")])
    lines = "".join([f"{name.lower()}: {value}\r\n" for name, value in headers]).encode("latin-1")
    return b"".join([_STARTS[reply.status], *[b"%s: %s\r\n" % header for header in first], lines, b"\r\n", reply.body])
