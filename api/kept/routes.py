"""GET and DELETE /requests/<id>, and `Prefer: respond-async`."""

from __future__ import annotations

from collections.abc import Awaitable

from werkzeug.http import parse_list_header

from api.grammar.correction import Correction
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply, json_reply, outcome_reply
from api.kept.requests import KeptRequests
from api.service.body import Body
from api.service.corrector import BatchOutcome
from api.service.exchange import Exchange
from worker.queue.formats import is_request_id
from worker.queue.redis_observer import Phase


def add(app: Api, services: Services) -> None:
    """Add the two routes, and let POST /correct answer at once."""
    kept = KeptRequests(services)

    def way(exchange: Exchange, request: IncomingRequest, body: Body) -> Awaitable[Reply] | None:
        return start(exchange, body) if _prefers_async(request.headers.get("prefer", "")) else None

    async def start(exchange: Exchange, body: Body) -> Reply:
        outcome = await kept.start(exchange, body)
        app.note_outcome(exchange, outcome)
        reply = _reply(outcome, exchange.request_id)
        if not isinstance(outcome, Phase):
            return reply
        location = ("Location", f"/requests/{exchange.request_id}")
        reply.headers.extend([location, ("Preference-Applied", "respond-async")])
        return reply

    app.ways.append(way)

    @app.get("/requests/<request_id>")
    async def find(exchange: Exchange, request: IncomingRequest, request_id: str) -> Reply:
        _name(exchange, request_id)
        exchange.client = app.client_of(exchange.account, request)
        outcome = await kept.find(request_id, exchange)
        app.note_outcome(exchange, outcome, is_first=False)
        return _reply(outcome, request_id)

    @app.delete("/requests/<request_id>")
    async def cancel(exchange: Exchange, _: IncomingRequest, request_id: str) -> Reply:
        _name(exchange, request_id)
        return json_reply({"request_id": request_id, "status": (await kept.cancel(request_id, exchange)).name.lower()})


def _name(exchange: Exchange, request_id: str) -> None:
    """Logs and problems are to name the request that is asked about, not the one that asks."""
    if is_request_id(request_id):
        exchange.request_id = request_id


def _prefers_async(header: str) -> bool:
    """Whether Prefer (RFC 7240) names respond-async; other preferences are ignored."""
    preferences = parse_list_header(header.lower()) if header else ()
    return any(preference.partition(";")[0].strip() == "respond-async" for preference in preferences)


def _reply(outcome: Correction | BatchOutcome | Phase, request_id: str) -> Reply:
    if isinstance(outcome, Phase):
        return json_reply({"request_id": request_id, "status": outcome.value}, 202, ("Retry-After", "1"))
    return outcome_reply(outcome, request_id)
