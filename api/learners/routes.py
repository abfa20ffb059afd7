"""GET and DELETE /learners/<id>, and the count of each answer that a learner is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from werkzeug.routing import PathConverter

from api.grammar.correction import Correction
from api.grammar.reasons import Reason
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply, json_reply
from api.service.body import check_learner_id
from api.service.corrector import learner_of
from api.service.exchange import Exchange
from scheduler.errors import NotFound
from worker.queue.learners import Answered, Learners
from worker.queue.protocol import MailboxLimits


class _AnyLines(PathConverter):
    """An id may have several lines, as in a body."""

    regex = "[^/](?s:.*?)"


def add(app: Api, services: Services) -> None:
    """Count for learners, where there is a queue to count in, and add the two routes."""
    learners = Learners(services.queue.ask, MailboxLimits.from_settings(services.settings).max_memory_bytes)

    def note(exchange: Exchange, outcome: object, is_first: bool) -> None:
        texts = [one for one in outcome if isinstance(one, Correction)] if isinstance(outcome, Sequence) else [outcome]
        corrections = [one for one in texts if isinstance(one, Correction)]
        mistakes = [(edit.reason.value, edit.verb) for one in corrections for edit in one.edits]
        if corrections:
            is_kept = not is_first or exchange.is_kept
            about = exchange.learner, exchange.client, exchange.request_id, is_first, is_kept
            learners.note(Answered(*about, len(corrections), tuple(mistakes)))

    if services.settings.uses_queue:
        app.reports.append(learners)
        app.listeners.append(note)

    app.url_map.converters["path"] = _AnyLines

    @app.get("/learners/<path:learner_id>")
    async def show(exchange: Exchange, _: IncomingRequest, learner_id: str) -> Reply:
        fields = await learners.find(_learner(exchange, learner_id))
        if not fields:
            raise NotFound("Nothing is counted, or no longer counted, for a learner with this id.")
        return json_reply(document_of(learner_id, fields))

    @app.delete("/learners/<path:learner_id>")
    async def forget(exchange: Exchange, _: IncomingRequest, learner_id: str) -> Reply:
        await learners.forget(_learner(exchange, learner_id))
        return json_reply({"learner_id": learner_id, "status": "forgotten"})


def _learner(exchange: Exchange, learner_id: str) -> str:
    """Raises InvalidRequest."""
    check_learner_id(learner_id)
    return learner_of(learner_id, "" if exchange.account is None else exchange.account.name)


def document_of(learner_id: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """What is known of a learner: the most frequent reasons first, and of each the most frequent verbs."""
    verbs: dict[str, list[tuple[int, str]]] = {}
    for name, text in fields.items():
        if name.startswith("v:"):
            _, reason, verb = name.split(":", 2)
            verbs.setdefault(reason, []).append((-_whole(text), verb))
    reasons = [
        {
            "reason": reason.value,
            "title": reason.title,
            "count": _whole(fields[f"n:{reason.value}"]),
            "last_seen": _iso(fields.get(f"at:{reason.value}", "")),
            "verbs": [verb for _, verb in sorted(verbs.get(reason.value, ()))],
        }
        for reason in Reason
        if f"n:{reason.value}" in fields
    ]
    reasons.sort(key=lambda one: -int(str(one["count"])))
    since, corrections = _iso(fields.get("since", "")), _whole(fields.get("corrections", ""))
    return {"learner_id": learner_id, "since": since, "corrections": corrections, "reasons": reasons}


def _whole(text: str) -> int:
    """0 for what is no number: somebody else wrote it."""
    return int(text) if text.isdecimal() and len(text) < 12 else 0


def _iso(seconds: str) -> str:
    return datetime.fromtimestamp(_whole(seconds), UTC).isoformat().replace("+00:00", "Z")
