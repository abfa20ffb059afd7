"""Answers requests by the views of their routes, in the event loop, and probes at once."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import lru_cache, partial
from typing import Any, cast

from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed as WerkzeugMethodNotAllowed

from api.http.app import PROBES, Api
from api.http.incoming import METHODS, IncomingRequest, bearer_of, correlation_id
from api.http.replies import Reply, closing_headers, error_reply, internal_error, json_reply
from api.service.exchange import Exchange
from scheduler.errors import MethodNotAllowed, NotFound, Overloaded, RateLimited, ServingError

# A client that sends again at once pays nothing for its refusal, but the process does, with CPU of requests that are
# answered. 1,500 refusals a second take a tenth of a core; what is over waits for the next slice. With 4,000 a second
# 56 % of the peak was left beside 1,200 such clients (drill `refusals`, two cores).
SLICE_S = 0.02
REFUSALS_IN_A_SLICE = 30
_SHED = {"/correct": Overloaded, "/correct/batch": RateLimited}  # a full queue still says which texts are wrong
_LONGEST_KNOWN = 128  # characters of a path
# Pages and their files, what programs read before they have a key, and what looks at the key itself.
OPEN_ROUTES = frozenset("/ /docs /openapi.json /healthz /readyz /ops /static/<name> /v2/check /v2/languages".split())
# Called before the body of a request is read. Raises QueueFull, RateLimited; returns what is called in the end.
Enter = Callable[[IncomingRequest], Callable[[], None] | None]
View = Callable[..., Coroutine[Any, Any, Reply]]


class RequestHandler:
    """Used in one event loop, once all plug-ins are added to the application."""

    def __init__(self, api: Api, enter: Enter = lambda _: None) -> None:
        self._api, self._enter = api, enter
        self._services = api.services
        self._router = api.url_map.bind("localhost")
        self._found = lru_cache(1024)(self._find)  # of short paths: nobody is asked for a key before
        self._refused: list[tuple[IncomingRequest, Reply]] = []  # that wait
        self._num_refused = 0  # in this slice
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def num_in_flight(self) -> int:
        return len(self._tasks) + len(self._refused)

    def begin(self, request: IncomingRequest) -> None:
        """The head has come, and all answers before this one on its connection have gone."""
        try:
            if request.fault is not None:
                raise request.fault
            probe = request.path.removesuffix("/")
            if probe in PROBES and request.method in ("GET", "HEAD"):
                request.link.respond(request, self._probe(probe, request))
                return
            leave = self._enter(request)
        except Exception as error:
            request.keeps_alive = False
            request.link.respond(request, self.refusal(error, request))
            return
        exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter(), when_left=request.when_left)
        try:
            work = self._begin(exchange, request)
        except Exception as error:
            reply = self._closed(exchange, request, error_reply(exchange, error))
            if exchange.is_shed:
                self._refuse(request, reply)
            else:
                request.link.respond(request, reply)
            if leave is not None:
                leave()
        else:
            task = asyncio.get_running_loop().create_task(self._run(exchange, request, work, leave))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _begin(self, exchange: Exchange, request: IncomingRequest) -> Coroutine[Any, Any, Reply]:
        """What answers the request. Raises its refusal where its head is enough for that."""
        exchange.correlation_id = correlation_id(request.headers)
        for begin in self._api.begins:
            if (reply := begin(exchange, request)) is not None:
                return _at_once(reply)
        if request.method == "OPTIONS" and request.path == "*":  # the whole server
            return _methods(METHODS)
        if request.method == "CONNECT":  # whose target is no path
            raise MethodNotAllowed("CONNECT", METHODS)
        find = self._found if len(request.path) <= _LONGEST_KNOWN else self._find
        exchange.route, view, values = find(request.path, request.method)
        if exchange.route not in OPEN_ROUTES:
            exchange.account = self._services.admit(bearer_of(request.headers))
        if exchange.route in _SHED and request.method == "POST":
            self._api.shed_load(exchange, request, _SHED[exchange.route])
        return view(exchange, request, **values)

    def _find(self, path: str, method: str) -> tuple[str, View, dict[str, Any]]:
        """The route, its view and the values in its path. Raises NotFound, MethodNotAllowed."""
        try:
            rule, values = self._router.match(path, method, return_rule=True)
        except WerkzeugMethodNotAllowed as error:
            allowed = ", ".join(sorted(error.valid_methods or ()))
            raise MethodNotAllowed(method, allowed) from None
        except HTTPException:
            raise NotFound("There is nothing at this path; sentences go to POST /correct.") from None
        if method == "OPTIONS":
            return rule.rule, partial(_methods, ", ".join(sorted(self._router.allowed_methods(path)))), {}
        return rule.rule, cast(View, self._api.view_functions[rule.endpoint]), dict(values)

    async def _run(
        self,
        exchange: Exchange,
        request: IncomingRequest,
        work: Coroutine[Any, Any, Reply],
        leave: Callable[[], None] | None,
    ) -> None:
        try:
            try:
                reply = await work
            except Exception as error:
                reply = error_reply(exchange, error)
            reply = self._closed(exchange, request, reply)
            if isinstance(reply.body, AsyncGenerator):
                await self._send(request, reply, reply.body)
            else:
                request.link.respond(request, reply)
        except Exception as error:
            internal_error(error, exchange.request_id)
            request.link.close()  # its client sees that the answer is not complete
        finally:
            if leave is not None:
                leave()

    async def _send(self, request: IncomingRequest, reply: Reply, body: AsyncGenerator[bytes]) -> None:
        """Send a stream as fast as its client reads, the head with its first part. Leaving ends it."""
        link = request.link
        async with aclosing(body) as parts:
            link.start(request, reply, await anext(parts, b""))
            async for part in parts:
                link.write(request, part)
                await link.has_room.wait()
                if link.is_lost:
                    break
        link.write(request, b"")

    def _closed(self, exchange: Exchange, request: IncomingRequest, reply: Reply) -> Reply:
        """The reply as it goes out."""
        for end in self._api.ends:
            reply = end(exchange, request, reply)
        exchange.status = reply.status
        elapsed_s = self._services.recorder.finish(exchange, request.method)
        reply.headers.extend(closing_headers(exchange, elapsed_s))
        return reply

    def refusal(self, error: Exception, request: IncomingRequest) -> Reply:
        """Of what no view was asked; it is logged and counted as what one refuses."""
        exchange = Exchange(secrets.token_hex(16), received_s=time.perf_counter())
        exchange.is_shed = isinstance(error, Overloaded)
        return self._closed(exchange, request, error_reply(exchange, error))

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

    def _probe(self, path: str, request: IncomingRequest) -> Reply:
        exchange = Exchange(secrets.token_hex(16))
        try:
            exchange.correlation_id = correlation_id(request.headers)
            reply = json_reply(self._api.readiness.document() if path == "/readyz" else {"status": "ok"})
        except ServingError as error:
            reply = error_reply(exchange, error)
        reply.headers.append(("X-Request-ID", exchange.correlation_id or exchange.request_id))
        return reply


async def _at_once(reply: Reply) -> Reply:
    return reply


async def _methods(allowed: str, *_: object) -> Reply:
    """The answer to OPTIONS."""
    return Reply(b"", 204, [("Allow", allowed)])
