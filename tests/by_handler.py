"""A WSGI application around a `RequestHandler`, for the test clients of Flask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from werkzeug.datastructures import EnvironHeaders

from api.http.handler import Enter, RequestHandler
from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from worker.queue.protocol import MailboxStatus


class ByHandler:
    """Each request has an event loop and a connection of its own."""

    def __init__(self, app: Any, enter: Enter = lambda _: None) -> None:
        self._app, self._handler = app, RequestHandler(app, enter)
        self._most_bytes = app.services.settings.max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        self._app.readiness.look(partial(self._app.services.queue.status, MailboxStatus(redis_ok=True, live_workers=1)))
        link = Link(self._most_bytes)
        asyncio.run(link.answer_of(self._handler, environ))
        reply = link.reply
        start_response(f"{reply.status} {HTTPStatus(reply.status).phrase.upper()}", reply.headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else reply.body]


class Link:
    """Keeps the answer to one request."""

    is_lost = False

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.has_room = asyncio.Event()
        self.has_room.set()

    async def answer_of(self, handler: RequestHandler, environ: dict[str, Any]) -> None:
        self._answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._parts: list[bytes] = []
        self._environ, self._request = environ, IncomingRequest(self, environ.get("REMOTE_ADDR", ""))
        for name, value in EnvironHeaders(environ):
            self._request.add_header(name.encode(), value.encode("latin-1"))
        target = f"{quote(environ['PATH_INFO'], safe='/*', encoding='latin-1')}?{environ['QUERY_STRING']}"
        self._request.end_head(environ["REQUEST_METHOD"], "1.1", target.encode("latin-1"))
        handler.begin(self._request)
        self.reply = await self._answer  # not returned: asyncio.run makes a text of what is

    def allow_body(self) -> None:
        asyncio.get_running_loop().call_soon(self._send_body)

    def _send_body(self) -> None:
        length = self._request.declared_bytes
        self._request.add_body(self._environ["wsgi.input"].read(-1 if length is None else length), self._most_bytes)
        self._request.complete()

    def respond(self, request: IncomingRequest, reply: Reply) -> None:
        self._answer.set_result(reply)

    def start(self, request: IncomingRequest, reply: Reply, part: bytes) -> None:
        self._head, self._parts = reply, [part]

    def write(self, request: IncomingRequest, part: bytes) -> None:
        self._parts.append(part)
        if not part:
            self._answer.set_result(self._head._replace(body=b"".join(self._parts)))

    def close(self) -> None:
        self._answer.set_exception(ConnectionError("closed"))
