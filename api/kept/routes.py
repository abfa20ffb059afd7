"""GET and DELETE /requests/<id>, and `Prefer: respond-async`."""

from __future__ import annotations

from flask import g, request

from api.http.app import Api
from api.http.replies import Reply, json_reply, outcome_reply
from api.kept.requests import KeptRequests
from api.observe.asked import name_exchange, pending_reply
from api.service.corrector import Corrector
from api.service.jobs import Job
from scheduler.phases import Phase


def add_kept_requests(app: Api, corrector: Corrector) -> None:
    """Add the two routes, and let POST /correct answer at once."""
    kept, endpoint = KeptRequests(corrector), app.corrections

    def start(job: Job) -> Reply:
        outcome = kept.start(job)
        endpoint.note_outcome(job.exchange, outcome)
        if not isinstance(outcome, Phase):
            return outcome_reply(job.exchange.request_id, outcome)
        reply = pending_reply(job.exchange.request_id, outcome)
        location = ("Location", f"/requests/{job.exchange.request_id}")
        reply.headers.extend([location, ("Preference-Applied", "respond-async")])
        return reply

    endpoint.start = start

    @app.get("/requests/<request_id>")
    def find(request_id: str) -> Reply:
        name_exchange(request_id)
        g.exchange.client = endpoint.client_of(g.exchange, request.environ)
        outcome = kept.find(request_id, g.exchange)
        endpoint.note_outcome(g.exchange, outcome, is_first=False)
        if isinstance(outcome, Phase):
            return pending_reply(request_id, outcome)
        return outcome_reply(request_id, outcome)

    @app.delete("/requests/<request_id>")
    def cancel(request_id: str) -> Reply:
        name_exchange(request_id)
        return json_reply({"request_id": request_id, "status": kept.cancel(request_id, g.exchange).name.lower()})
