"""The application: its routes, POST /correct and POST /correct/batch among them, and what plug-ins add to them.

Each view is awaited by the event loop, with the exchange and the request (api/http/handler.py); Flask holds the table
of routes. Methods raise a ServingError where they give no reply.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask

from api.http.incoming import IncomingRequest, client_number, deadline_s, idempotency_digest
from api.http.replies import Reply, outcome_reply
from api.service.body import Body, parse_batch, parse_body
from api.service.corrector import Corrector, learner_of
from api.service.exchange import Account, Exchange
from api.service.readiness import Readiness
from api.service.threads import in_turn
from api.telemetry.recorder import RequestRecorder
from scheduler.addresses import ClientAddresses
from scheduler.errors import Overloaded
from scheduler.settings import Settings
from worker.queue.api_mailbox import ApiMailbox
from worker.queue.protocol import Reports

if TYPE_CHECKING:
    from worker.queue.redis_observer import RedisObserver

Parse = Callable[[bytes, bytes], Body]  # of a body and a query
PROBES = "/healthz", "/readyz"  # the handler answers them itself


@dataclass(frozen=True, slots=True)
class Services:
    """What the site makes once in a process. Each plug-in is given it, and the application, to which it adds itself."""

    settings: Settings
    corrector: Corrector
    queue: ApiMailbox
    observer: RedisObserver  # or the engines, in the modes without a queue
    recorder: RequestRecorder  # what it records is for the server to write and report
    # Whose an API key is. None where no keys are asked for. Raises Unauthorized. Any thread may ask.
    admit: Callable[[str], Account | None] = lambda _: None
    clock: Callable[[], float] = time.perf_counter  # as that of Exchange


class Api(Flask):
    """The application, with what a server needs of it; opens nothing by itself."""

    def __init__(self, services: Services) -> None:
        super().__init__("api", static_folder=None)
        self.url_map.strict_slashes = False
        self.url_map.merge_slashes = False  # it would redirect to the host that the client names
        self.services = services
        self.readiness = Readiness()
        self.reports: list[Reports] = []  # for the server to send with those of the recorder
        self._max_body_bytes = services.settings.max_body_bytes
        self._addresses = ClientAddresses(services.settings.trusted_proxies)
        # Plug-ins add to these.
        self.begins: list[Callable[[Exchange, IncomingRequest], Reply | None]] = []  # of a head; the first reply counts
        self.ends: list[Callable[[Exchange, IncomingRequest, Reply], Reply]] = []  # of every answer, but to probes
        # To answer other than by JSON to a client that waits; the first reply counts.
        self.ways: list[Callable[[Exchange, IncomingRequest, Body], Awaitable[Reply] | None]] = []
        self.listeners: list[Callable[[Exchange, object, bool], None]] = []  # as `note_outcome`

        for route, parse in (("/correct", parse_body), ("/correct/batch", parse_batch)):
            self.add_url_rule(route, route, partial(self._correct, parse), methods=["POST"])
        for route in PROBES:
            self.add_url_rule(route, route)

    async def _correct(self, parse: Parse, exchange: Exchange, request: IncomingRequest) -> Reply:
        """Load was shed before the body is read."""
        body = parse(await request.read_json(self._max_body_bytes), request.query)
        exchange.allowed_s = deadline_s(request.headers)
        exchange.key = idempotency_digest(request.headers, exchange.account)
        if body.learner_id is not None:
            exchange.learner = learner_of(body.learner_id, exchange.account.name if exchange.account else "")
        exchange.is_read = True
        for way in self.ways:
            if (reply := way(exchange, request, body)) is not None:
                return await reply
        corrector = self.services.corrector
        outcome = await corrector.correct(exchange, body)
        exchange.is_answer = True
        self.note_outcome(exchange, outcome)
        in_steps = corrector.pipeline.in_steps
        return await in_turn(body.num_characters, outcome_reply, outcome, exchange.request_id, in_steps)

    def shed_load(self, exchange: Exchange, request: IncomingRequest, kind: type[Overloaded] = Overloaded) -> None:
        """Refuse at once while the queue is known to be full, before the body is read.

        A refusal that passed the tokenizer and Redis cost 1.5 ms of CPU in 0.7, and a thousand of them a second would
        take the cores from the workers that everybody waits for. What may be answered although the queue is full (an
        Idempotency-Key) or has a body of unknown or too great a length is refused by the queue.
        """
        exchange.client = self.client_of(exchange.account, request)
        refusal = self.services.queue.known_refusal(exchange.client)
        if isinstance(refusal, kind) and "idempotency-key" not in request.headers:
            length = request.declared_bytes
            if length is not None and length <= self._max_body_bytes:  # the server reads past it
                exchange.is_shed = True
                raise refusal

    def client_of(self, account: Account | None, request: IncomingRequest) -> str:
        """The number of whom the queue counts a request for."""
        if account is not None:
            return client_number(f"key {account.name}")
        named = self._addresses.of(request.address, request.headers.get("x-forwarded-for", ""))
        return client_number(named)

    def note_outcome(self, exchange: Exchange, outcome: object, is_first: bool = True) -> None:
        """What the client is given, if it names a learner. `is_first`: not by GET of a request of before."""
        for listener in self.listeners if exchange.learner else ():
            listener(exchange, outcome, is_first)
