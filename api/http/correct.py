"""POST /correct: in the plain case answered by the event loop itself, else by Flask's route, in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api.http import request_input
from api.http.incoming import Environ, IncomingRequest
from api.http.replies import EVENTS, Header, Reply, closing_headers, correction_text, error_reply, text_reply
from api.service.body import RequestOptions, parse_body
from api.service.corrector import learner_of
from api.service.exchange import Exchange
from api.services import Services
from scheduler.accounts import Account
from scheduler.addresses import ClientAddresses
from scheduler.errors import Overloaded

Way = Callable[[Exchange, Environ, Any], Reply | None]  # the third is the body of one of the two routes


class CorrectionEndpoint:
    """Answers a plain POST /correct in the event loop, and all others from Flask's views.

    The views raise a ServingError where they give no reply.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._corrector, self._queue = services.corrector, services.queue
        self.max_body_bytes = services.settings.max_body_bytes
        self._addresses = ClientAddresses(services.settings.trusted_proxies)
        # Plug-ins add to these.
        self.ways: list[Way] = []  # to answer other than by JSON to a client that waits; the first reply counts
        self.flask_headers: set[str] = set()  # a request with one is not for the event loop
        self.listeners: list[Callable[[Exchange, object, bool], None]] = []  # as `note_outcome`
        self.more_headers: list[Callable[[Environ], list[Header]]] = []  # of all answers but those to probes

    def is_plain(self, environ: Environ) -> bool:
        """Whether the event loop can answer it."""
        is_json = EVENTS not in environ.get("HTTP_ACCEPT", "").lower()
        return is_json and environ.keys().isdisjoint(self.flask_headers)

    def refusal_of_head(self, exchange: Exchange, environ: Environ) -> Reply | None:
        """The reply to a plain request that is refused by its head; else `answer` is next."""
        try:
            request_input.check_headers(environ)
            exchange.correlation_id = request_input.correlation_id(environ)
            exchange.account = self._services.admit(request_input.bearer_of(environ))
            self.shed_load(exchange, environ)
        except Exception as error:
            return self._close(exchange, environ, error_reply(exchange, error))
        return None

    async def answer(self, exchange: Exchange, environ: Environ, request: IncomingRequest) -> Reply:
        """POST /correct as JSON, from the event loop."""
        try:
            raw = await request.read_body(environ, self.max_body_bytes)
            request_input.check_media_type(environ)
            body = parse_body(raw)
            self.note_wishes(exchange, environ, body)
            correction = await self._corrector.correct_soon(exchange, body)
            self.note_answer(exchange, correction)
            reply = text_reply(correction_text(correction, exchange.request_id))
        except Exception as error:
            reply = error_reply(exchange, error)
        return self._close(exchange, environ, reply)

    def _close(self, exchange: Exchange, environ: Environ, reply: Reply) -> Reply:
        exchange.status = reply.status
        elapsed_s = self._services.recorder.finish(exchange, "POST")
        reply.headers.extend(self.closing_headers(exchange, environ, elapsed_s))
        return reply

    def closing_headers(self, exchange: Exchange, environ: Environ, elapsed_s: float) -> list[Header]:
        """Of every answer, once it is ready."""
        return closing_headers(exchange, elapsed_s) + [one for headers in self.more_headers for one in headers(environ)]

    def correct(self, exchange: Exchange, environ: Environ) -> Reply:
        """POST /correct, as JSON or as a stream of events."""
        self.shed_load(exchange, environ)
        body = parse_body(request_input.read_json(environ, self.max_body_bytes))
        if (reply := self.begin(exchange, environ, body)) is not None:
            return reply
        correction = self._corrector.correct(exchange, body)
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

    def begin(self, exchange: Exchange, environ: Environ, body: RequestOptions) -> Reply | None:
        """Note how the answer is wanted; the reply where it is not JSON for a client that waits."""
        self.note_wishes(exchange, environ, body)
        return next(filter(None, (way(exchange, environ, body) for way in self.ways)), None)

    def note_wishes(self, exchange: Exchange, environ: Environ, body: RequestOptions) -> None:
        exchange.when_left = request_input.when_left(environ)
        exchange.allowed_s = request_input.deadline_s(environ)
        exchange.key = request_input.idempotency_digest(environ, exchange.account)
        if body.learner_id is not None:
            exchange.learner = learner_of(body.learner_id, exchange.account.name if exchange.account else "")
        exchange.is_read = True

    def note_answer(self, exchange: Exchange, outcome: object) -> None:
        """The client has waited for it."""
        exchange.is_answer = True
        self.note_outcome(exchange, outcome)

    def note_outcome(self, exchange: Exchange, outcome: object, is_first: bool = True) -> None:
        """What the client is given, if it names a learner. `is_first`: not by GET of a request of before."""
        for listener in self.listeners if exchange.learner else ():
            listener(exchange, outcome, is_first)
