"""GET and DELETE /requests/<id>, and `Prefer: respond-async`."""

from __future__ import annotations

from flask import g, request
from werkzeug.http import parse_list_header

from api.grammar.correction import Correction
from api.http.app import Api
from api.http.incoming import Environ
from api.http.outcomes import outcome_reply
from api.http.replies import Reply, json_reply
from api.kept.requests import KeptRequests
from api.service.batch import BatchBody, BatchOutcome
from api.service.body import CorrectionBody
from api.service.exchange import Exchange
from api.services import Services
from scheduler.phases import Phase
from worker.queue.formats import is_request_id


def add(app: Api, services: Services) -> None:
    """Add the two routes, and let POST /correct answer at once."""
    kept, endpoint = KeptRequests(services), app.corrections

    def start(exchange: Exchange, environ: Environ, body: CorrectionBody | BatchBody) -> Reply | None:
        if not _prefers_async(environ.get("HTTP_PREFER", "")):
            return None
        outcome = kept.start(exchange, body)
        endpoint.note_outcome(exchange, outcome)
        reply = _reply(outcome, exchange.request_id)
        if not isinstance(outcome, Phase):
            return reply
        location = ("Location", f"/requests/{exchange.request_id}")
        reply.headers.extend([location, ("Preference-Applied", "respond-async")])
        return reply

    endpoint.ways.append(start)
    endpoint.flask_headers.add("HTTP_PREFER")
    app.redis_paths.append(r"^/requests/")

    @app.get("/requests/<request_id>")
    def find(request_id: str) -> Reply:
        _name_exchange(request_id)
        g.exchange.client = endpoint.client_of(g.exchange.account, request.environ)
        outcome = kept.find(request_id, g.exchange)
        endpoint.note_outcome(g.exchange, outcome, is_first=False)
        return _reply(outcome, request_id)

    @app.delete("/requests/<request_id>")
    def cancel(request_id: str) -> Reply:
        _name_exchange(request_id)
        return json_reply({"request_id": request_id, "status": kept.cancel(request_id, g.exchange).name.lower()})


def _name_exchange(request_id: str) -> None:
    """Logs and problems are to name the request that is asked about, not the one that asks."""
    if is_request_id(request_id):
        g.exchange.request_id = request_id


def _prefers_async(header: str) -> bool:
    """Whether Prefer (RFC 7240) names respond-async; other preferences are ignored."""
    preferences = parse_list_header(header.lower()) if header else ()
    return any(preference.partition(";")[0].strip() == "respond-async" for preference in preferences)


def _reply(outcome: Correction | BatchOutcome | Phase, request_id: str) -> Reply:
    if isinstance(outcome, Phase):
        return json_reply({"request_id": request_id, "status": outcome.value}, 202, ("Retry-After", "1"))
    return outcome_reply(outcome, request_id)
