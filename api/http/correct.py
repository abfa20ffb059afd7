"""POST /correct, and what all routes that correct have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from api.http import request_input
from api.http.incoming import Environ, IncomingRequest
from api.http.replies import Reply, correction_text, text_reply
from api.service.body import RequestOptions, parse_body
from api.service.corrector import learner_of
from api.service.exchange import Account, Exchange
from api.services import Services
from scheduler.addresses import ClientAddresses
from scheduler.errors import Overloaded

Way = Callable[[Exchange, Environ, Any], Awaitable[Reply] | None]  # the third is the body of one of the two routes


class Corrections:
    """Its methods raise a ServingError where they give no reply."""

    def __init__(self, services: Services) -> None:
        self._corrector, self._queue = services.corrector, services.queue
        self.max_body_bytes = services.settings.max_body_bytes
        self._addresses = ClientAddresses(services.settings.trusted_proxies)
        # Plug-ins add to these.
        self.ways: list[Way] = []  # to answer other than by JSON to a client that waits; the first reply counts
        self.listeners: list[Callable[[Exchange, object, bool], None]] = []  # as `note_outcome`

    async def correct(self, exchange: Exchange, request: IncomingRequest) -> Reply:
        """POST /correct. Load was shed before its body was read."""
        body = parse_body(await request.read_json(self.max_body_bytes))
        if (reply := self.begin(exchange, request.environ, body)) is not None:
            return await reply
        correction = await self._corrector.correct(exchange, body)
        self.note_answer(exchange, correction)
        return text_reply(correction_text(correction, exchange.request_id))

    def shed_load(self, exchange: Exchange, environ: Environ, kind: type[Overloaded] = Overloaded) -> None:
        """Refuse at once while the queue is known to be full, before the body is read.

        A refusal that passed the tokenizer and Redis cost 1.5 ms of CPU in 0.7, and a thousand of them a second would
        take the cores from the workers that everybody waits for. What may be answered although the queue is full (an
        Idempotency-Key) or has a body of unknown or too great a length is refused by the queue.
        """
        exchange.client = self.client_of(exchange.account, environ)
        refusal, length = self._queue.known_refusal(exchange.client), environ.get("CONTENT_LENGTH") or ""
        is_bounded = length.isdecimal() and int(length) <= self.max_body_bytes  # the server reads past it
        if isinstance(refusal, kind) and is_bounded and "HTTP_IDEMPOTENCY_KEY" not in environ:
            exchange.is_shed = True
            raise refusal

    def client_of(self, account: Account | None, environ: Environ) -> str:
        if account is not None:
            return request_input.client_number(f"key {account.name}")
        named = self._addresses.of(environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", ""))
        return request_input.client_number(named)

    def begin(self, exchange: Exchange, environ: Environ, body: RequestOptions) -> Awaitable[Reply] | None:
        """Note how the answer is wanted; the reply where it is not JSON for a client that waits."""
        exchange.allowed_s = request_input.deadline_s(environ)
        exchange.key = request_input.idempotency_digest(environ, exchange.account)
        if body.learner_id is not None:
            exchange.learner = learner_of(body.learner_id, exchange.account.name if exchange.account else "")
        exchange.is_read = True
        return next(filter(None, [way(exchange, environ, body) for way in self.ways]), None)

    def note_answer(self, exchange: Exchange, outcome: object) -> None:
        """The client has waited for it."""
        exchange.is_answer = True
        self.note_outcome(exchange, outcome)

    def note_outcome(self, exchange: Exchange, outcome: object, is_first: bool = True) -> None:
        """What the client is given, if it names a learner. `is_first`: not by GET of a request of before."""
        for listener in self.listeners if exchange.learner else ():
            listener(exchange, outcome, is_first)
