"""POST /correct/batch."""

from __future__ import annotations

from flask import g, request

from api.batch.body import parse_batch
from api.http import request_input
from api.http.app import Api
from api.http.replies import Reply
from scheduler.errors import RateLimited


def add_batches(app: Api) -> None:
    """Add the route."""
    endpoint = app.corrections

    @app.post("/correct/batch")
    def correct_batch() -> Reply:
        exchange, environ = g.exchange, request.environ
        endpoint.shed_load(exchange, environ, RateLimited)  # a full queue still says which texts are wrong
        body = parse_batch(request_input.read_json(environ, endpoint.max_body_bytes))
        return endpoint.serve(exchange, environ, body.sentences, body, is_batch=True)
