"""A WSGI application around a `RequestHandler`, for the test clients of Flask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from api.http.handler import Enter, RequestHandler
from api.http.incoming import IncomingRequest
from api.http.replies import Reply
from api.http.request_input import declared_length


class ByHandler:
    """Each request has an event loop and a connection of its own."""

    def __init__(self, app: Any, enter: Enter = lambda _: None) -> None:
        self._handler = RequestHandler(app, enter)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        reply = asyncio.run(Link().answer_of(self._handler, environ))
        start_response(f"{reply.status} {HTTPStatus(reply.status).phrase.upper()}", reply.headers)
        return [reply.body]


class Link:
    """Keeps the answer to one request."""

    is_lost = False

    async def answer_of(self, handler: RequestHandler, environ: dict[str, Any]) -> Reply:
        self._answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._parts: list[bytes] = []
        self._request = IncomingRequest(self, environ)
        self._request.declared_bytes = declared_length(environ)
        handler.begin(self._request)
        return await self._answer

    def allow_body(self) -> None:
        asyncio.get_running_loop().call_soon(self._send_body)

    def _send_body(self) -> None:
        length = self._request.environ.get("CONTENT_LENGTH")
        self._request.add_body(self._request.environ["wsgi.input"].read(int(length) if length else -1), 1 << 24)
        self._request.complete()

    def respond(self, request: IncomingRequest, reply: Reply) -> None:
        self._answer.set_result(reply)

    def start(self, request: IncomingRequest, reply: Reply, part: bytes) -> None:
        self._head, self._parts = reply, [part]

    def write(self, request: IncomingRequest, part: bytes) -> None:
        self._parts.append(part)
        if not part:
            self._answer.set_result(self._head._replace(body=b"".join(self._parts)))

    def wait_for_room(self) -> None: ...
