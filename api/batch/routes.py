"""POST /correct/batch."""

from __future__ import annotations

from api.http.app import Api
from api.http.incoming import IncomingRequest
from api.http.outcomes import outcome_reply
from api.http.replies import Reply
from api.service.batch import correct_batch, parse_batch
from api.service.exchange import Exchange
from api.services import Services
from scheduler.errors import RateLimited


def add(app: Api, services: Services) -> None:
    """Add the route."""
    corrections = app.corrections

    @app.post("/correct/batch")
    async def correct_texts(exchange: Exchange, request: IncomingRequest) -> Reply:
        corrections.shed_load(exchange, request.environ, RateLimited)  # a full queue still says which texts are wrong
        body = parse_batch(await request.read_json(corrections.max_body_bytes))
        if (reply := corrections.begin(exchange, request.environ, body)) is not None:
            return await reply
        outcomes = await correct_batch(services.corrector, exchange, body)
        corrections.note_answer(exchange, outcomes)
        return outcome_reply(outcomes, exchange.request_id)
