"""Answers requests: what is asked most in the event loop, all else by Flask in threads.

In the loop: POST /correct as JSON, and probes, which wait for nothing. For Flask the body is read before a thread is
taken, unless the request may be refused unread.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from collections.abc import Callable, Coroutine
from io import BytesIO
from typing import Any

from api.http.app import Api
from api.http.incoming import IncomingRequest
from api.http.replies import Reply, error_reply, internal_error, json_reply
from api.http.threads import FlaskThreads
from api.service.exchange import Exchange
from scheduler.errors import BodyTooLarge, ServingError

# A client that sends again at once pays nothing for its refusal, but the process does, with CPU of requests that are
# answered. 1,500 refusals a second take a tenth of a core; what is over waits for the next slice. With 4,000 a second
# 56 % of the peak was left beside 1,200 such clients (drill `refusals`, two cores).
SLICE_S = 0.02
REFUSALS_IN_A_SLICE = 30
_ROUTE = "/correct"
_PROBES = ("/healthz", "/readyz")
# Called before the body of a request is read. Raises QueueFull, RateLimited; returns what is called in the end.
Enter = Callable[[IncomingRequest], Callable[[], None] | None]


class RequestHandler:
    """Used in one event loop, once all plug-ins are added to the application."""

    def __init__(self, api: Api, enter: Enter = lambda _: None) -> None:
        self._api, self._enter, self._corrections = api, enter, api.corrections
        self._flask = FlaskThreads(api.wsgi_app)
        self._reads_body, self._waits = _pattern(api.body_paths), _pattern(api.waiting_paths)
        self._asks_redis = _pattern(api.redis_paths)
        self._max_body_bytes = api.services.settings.max_body_bytes
        self._refused: list[tuple[IncomingRequest, Reply]] = []  # that wait
        self._num_refused = 0  # in this slice
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def num_in_flight(self) -> int:
        return len(self._tasks) + len(self._refused)

    def begin(self, request: IncomingRequest) -> None:
        """The head has come, and all answers before this one on its connection have gone."""
        environ, leave, work = request.environ, None, None
        try:
            if request.fault is not None:
                raise request.fault
            path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
            if path in _PROBES and method == "GET" and "HTTP_X_REQUEST_ID" not in environ:
                request.link.respond(request, self._probe(path))
                return
            leave = self._enter(request)
            if path == _ROUTE and method == "POST" and self._corrections.is_plain(environ):
                exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter(), route=_ROUTE)
                reply = self._corrections.refusal_of_head(exchange, environ)
                if reply is None:
                    work = self._correct(request, exchange)
                elif exchange.is_shed:
                    self._refuse(request, reply)
                else:
                    request.link.respond(request, reply)
            else:
                work = self._pass_on(request)
        except Exception as error:
            self._fail(request, error)
        if work is not None:
            task = asyncio.get_running_loop().create_task(self._run(request, work, leave))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif leave is not None:
            leave()

    async def _run(
        self, request: IncomingRequest, work: Coroutine[Any, Any, None], leave: Callable[[], None] | None
    ) -> None:
        try:
            await work
        except Exception as error:
            self._fail(request, error)
        finally:
            if leave is not None:
                leave()

    async def _correct(self, request: IncomingRequest, exchange: Exchange) -> None:
        request.link.respond(request, await self._corrections.answer(exchange, request.environ, request))

    async def _pass_on(self, request: IncomingRequest) -> None:
        """To Flask."""
        environ, path, body = request.environ, request.environ["PATH_INFO"], BytesIO()
        length = request.declared_bytes
        is_short = length is None or 0 < length <= self._max_body_bytes
        reads_body = self._reads_body.search(path) is not None
        if is_short and reads_body:
            try:
                body = BytesIO(await request.read())
            except BodyTooLarge:
                body = BytesIO(bytes(self._max_body_bytes + 1))
            except ServingError:
                body = _CutBody()
        pool = self._flask.others
        if environ["REQUEST_METHOD"] == "POST" or reads_body or self._waits.search(path):
            pool = self._flask.waiting
        elif self._asks_redis.search(path):
            pool = self._flask.asking
        await self._flask.answer(request, body, pool)

    def _refuse(self, request: IncomingRequest, reply: Reply) -> None:
        if not self._num_refused:
            asyncio.get_running_loop().call_later(SLICE_S, self._begin_slice)
        self._num_refused += 1
        if self._num_refused <= REFUSALS_IN_A_SLICE:
            request.link.respond(request, reply)
        else:
            self._refused.append((request, reply))

    def _begin_slice(self) -> None:
        waiting, self._refused, self._num_refused = self._refused, [], 0
        for request, reply in waiting:
            self._refuse(request, reply)

    def _fail(self, request: IncomingRequest, error: Exception) -> None:
        request.keeps_alive = False
        reply = refusal(self._api, error, request.environ.get("PATH_INFO", "").startswith("/v2/"))
        if request.has_begun:
            request.link.close()  # its client sees that the answer is not complete
        else:
            request.link.respond(request, reply)

    def _probe(self, path: str) -> Reply:
        exchange = Exchange(secrets.token_hex(16))
        try:
            reply = json_reply({"status": "ok"} if path == "/healthz" else self._api.readiness.document())
        except ServingError as error:
            reply = error_reply(exchange, error)
        reply.headers.append(("X-Request-ID", exchange.request_id))
        return reply


class _CutBody(BytesIO):
    """A body that did not arrive in full."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError("the body did not arrive in full")


def _pattern(paths: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(paths) or "(?!)")


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
