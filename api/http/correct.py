"""POST /correct: one implementation, called by Flask's route and, in the plain case, before Flask.

Flask's machinery costs 190 us of some 1,300 that a request costs the API (docs/adr/0011-plain-corrections.md).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from api.http import request_input
from api.http.replies import EVENTS, STATUS_LINES, Reply, closing_headers, correction_document, error_reply, json_reply
from api.http.schema import CorrectionBody, RequestOptions, parse_body
from api.service.corrector import Corrector, learner_of
from api.service.exchange import Exchange
from api.telemetry.recorder import RequestRecorder
from scheduler.accounts import Account
from scheduler.addresses import ClientAddresses
from scheduler.errors import Overloaded
from scheduler.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

Environ = dict[str, Any]
ROUTE = "/correct"


class CorrectionEndpoint:
    """A WSGI application that answers a plain POST /correct and gives everything else to Flask, whose views come back.

    The views raise a ServingError where they give no reply.
    """

    def __init__(
        self, flask: WSGIApplication, corrector: Corrector, recorder: RequestRecorder, settings: Settings
    ) -> None:
        self.flask = flask
        self._corrector = corrector
        self._recorder = recorder
        self.max_body_bytes = settings.max_body_bytes
        self._addresses = ClientAddresses(settings.trusted_proxies)
        self.flask_headers = {"HTTP_PREFER"}  # with one of these a request is no plain one
        self.note_learner: Callable[[Exchange, object, bool], None] | None = None
        self.admit: Callable[..., Account] | None = None  # where keys are asked for; raises Unauthorized
        # For a client that does not wait, and for one that wants each edit as it is decoded; None: it is neither.
        self.start: Callable[[Exchange, Environ, Any], Reply | None] = lambda *_: None
        self.stream: Callable[[Exchange, Environ, CorrectionBody], Reply | None] = lambda *_: None

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        is_ours = environ["PATH_INFO"] == ROUTE and environ["REQUEST_METHOD"] == "POST"
        is_plain = (
            environ.keys().isdisjoint(self.flask_headers) and EVENTS not in environ.get("HTTP_ACCEPT", "").lower()
        )
        if not is_ours or not is_plain:
            return self.flask(environ, start_response)
        exchange = Exchange(secrets.token_hex(16), time.perf_counter(), ROUTE)
        try:
            request_input.check_headers(environ)
            exchange.correlation_id = request_input.correlation_id(environ)
            if self.admit is not None:
                exchange.account = self.admit(environ)
            reply = self.correct(exchange, environ)
        except Exception as error:
            reply = error_reply(exchange, error)
        exchange.status = reply.status
        elapsed_s = self._recorder.finish(exchange, "POST")
        start_response(STATUS_LINES[reply.status], reply.headers + closing_headers(exchange, elapsed_s))
        return (reply.body,)  # type: ignore[return-value]  # only what wants a stream gets one

    def correct(self, exchange: Exchange, environ: Environ) -> Reply:
        """POST /correct, as JSON or as a stream of events."""
        self.shed_load(exchange, environ)
        body = parse_body(request_input.read_json(environ, self.max_body_bytes))
        if (reply := self.begin(exchange, environ, body) or self.stream(exchange, environ, body)) is not None:
            return reply
        correction = self._corrector.correct(exchange, body)
        self.note_answer(exchange, correction)
        return json_reply(correction_document(correction, exchange.request_id))

    def shed_load(self, exchange: Exchange, environ: Environ, kind: type[Overloaded] = Overloaded) -> None:
        """Refuse at once while the queue is known to be full, before the body is read.

        A refusal that passed the tokenizer and Redis cost 1.5 ms of CPU in 0.7, and a thousand of them a second would
        take the cores from the workers that everybody waits for. What may be answered although the queue is full (an
        Idempotency-Key) or has a body of unknown or too great a length is refused by the queue.
        """
        exchange.client = self.client_of(exchange, environ)
        refusal = self._corrector.mailbox.known_refusal(exchange.client)
        if not isinstance(refusal, kind) or "HTTP_IDEMPOTENCY_KEY" in environ:
            return
        length = environ.get("CONTENT_LENGTH") or ""
        if length.isdecimal() and int(length) <= self.max_body_bytes:  # the server reads past it
            exchange.is_shed = True
            raise refusal

    def client_of(self, exchange: Exchange, environ: Environ) -> str:
        if exchange.account is not None:
            return request_input.client_number(f"key {exchange.account.name}")
        named = self._addresses.of(environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", ""))
        return request_input.client_number(named)

    def begin(self, exchange: Exchange, environ: Environ, body: RequestOptions) -> Reply | None:
        """Note how the answer is wanted; the reply to a client that does not wait."""
        exchange.has_left = request_input.hang_up_detector(environ)
        exchange.within_s = request_input.deadline_s(environ)
        exchange.key = request_input.idempotency_digest(environ, exchange.account)
        if body.learner_id is not None:
            exchange.learner = learner_of(body.learner_id, exchange.account.name if exchange.account else "")
        exchange.is_read = True
        return self.start(exchange, environ, body)

    def note_answer(self, exchange: Exchange, outcome: object) -> None:
        """The client has waited for it."""
        exchange.is_answer = True
        self.note_outcome(exchange, outcome)

    def note_outcome(self, exchange: Exchange, outcome: object, is_first: bool = True) -> None:
        """What the client is given, if it names a learner. `is_first`: not by GET of a request of before."""
        if exchange.learner and self.note_learner is not None:
            self.note_learner(exchange, outcome, is_first)
