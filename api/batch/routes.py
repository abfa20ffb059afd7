"""POST /correct/batch."""

from __future__ import annotations

import logging
from typing import Any

from flask import g, request

from api.batch.body import parse_batch
from api.batch.corrector import BatchOutcome, correct_batch
from api.grammar.correction import Correction
from api.http import problems, request_input
from api.http.app import Api
from api.http.replies import Reply, correction_document, json_reply
from api.service.corrector import Corrector
from scheduler.errors import RateLimited, ServingError

logger = logging.getLogger(__name__)


def add_batches(app: Api, corrector: Corrector) -> None:
    """Add the route."""
    endpoint = app.corrections

    @app.post("/correct/batch")
    def correct_texts() -> Reply:
        exchange, environ = g.exchange, request.environ
        endpoint.shed_load(exchange, environ, RateLimited)  # a full queue still says which texts are wrong
        body = parse_batch(request_input.read_json(environ, endpoint.max_body_bytes))
        if (reply := endpoint.begin(exchange, environ, body)) is not None:
            return reply
        outcomes = correct_batch(corrector, exchange, body)
        endpoint.note_answer(exchange, outcomes)
        return batch_reply(outcomes, exchange.request_id)


def batch_reply(outcomes: BatchOutcome, request_id: str) -> Reply:
    results = [_document(outcome, f"{request_id}-{number}") for number, outcome in enumerate(outcomes, start=1)]
    return json_reply({"results": results, "request_id": request_id})


def _document(outcome: Correction | ServingError, request_id: str) -> dict[str, Any]:
    if isinstance(outcome, Correction):
        return correction_document(outcome, request_id)
    if outcome.status >= 500:
        logger.info("item failed", extra={"request_id": request_id, "slug": outcome.slug})
    return problems.problem(outcome, request_id)
