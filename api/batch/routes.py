"""POST /correct/batch."""

from __future__ import annotations

from flask import g, request

from api.http import request_input
from api.http.app import Api
from api.http.outcomes import outcome_reply
from api.http.replies import Reply
from api.service.batch import correct_batch, parse_batch
from api.services import Services
from scheduler.errors import RateLimited


def add(app: Api, services: Services) -> None:
    """Add the route."""
    endpoint = app.corrections
    app.body_paths.append(r"/correct/batch/?$")

    @app.post("/correct/batch")
    def correct_texts() -> Reply:
        exchange, environ = g.exchange, request.environ
        endpoint.shed_load(exchange, environ, RateLimited)  # a full queue still says which texts are wrong
        body = parse_batch(request_input.read_json(environ, endpoint.max_body_bytes))
        if (reply := endpoint.begin(exchange, environ, body)) is not None:
            return reply
        outcomes = correct_batch(services.corrector, exchange, body)
        endpoint.note_answer(exchange, outcomes)
        return outcome_reply(outcomes, exchange.request_id)
