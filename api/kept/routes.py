"""GET and DELETE /requests/<id>, and `Prefer: respond-async`."""

from __future__ import annotations

from flask import g, request
from werkzeug.http import parse_list_header

from api.batch.body import BatchBody
from api.batch.corrector import BatchOutcome
from api.batch.routes import batch_reply
from api.grammar.correction import Correction
from api.http.app import Api
from api.http.correct import Environ
from api.http.replies import Reply, correction_document, json_reply
from api.http.schema import CorrectionBody
from api.kept.requests import KeptRequests
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from scheduler.phases import Phase
from worker.mailbox.formats import is_request_id


def add_kept_requests(app: Api, corrector: Corrector) -> None:
    """Add the two routes, and let POST /correct answer at once."""
    kept, endpoint = KeptRequests(corrector), app.corrections

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

    endpoint.start = start

    @app.get("/requests/<request_id>")
    def find(request_id: str) -> Reply:
        _name_exchange(request_id)
        g.exchange.client = endpoint.client_of(g.exchange, request.environ)
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
    if isinstance(outcome, Correction):
        return json_reply(correction_document(outcome, request_id))
    return batch_reply(outcome, request_id)
