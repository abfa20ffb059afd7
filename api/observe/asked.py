"""What the questions about another request have in common: its name in logs, and 202 while it has no answer."""

from __future__ import annotations

from flask import g

from api.http.replies import Reply, json_reply
from scheduler.phases import Phase
from worker.mailbox.formats import is_request_id

_LOOK_AGAIN = ("Retry-After", "1")


def name_exchange(request_id: str) -> None:
    """Logs and problems are to name the request that is asked about, not the one that asks."""
    if is_request_id(request_id):
        g.exchange.request_id = request_id


def pending_reply(request_id: str, phase: Phase) -> Reply:
    return json_reply({"request_id": request_id, "status": phase.value}, 202, _LOOK_AGAIN)
