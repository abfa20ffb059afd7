"""The reply to what became of a request, with one text or with many."""

from __future__ import annotations

import logging

from api.grammar.correction import Correction
from api.http.replies import Reply, correction_text, text_reply
from api.service.batch import BatchOutcome
from api.service.problems import problem, to_json
from scheduler.errors import ServingError

logger = logging.getLogger(__name__)


def outcome_reply(outcome: Correction | BatchOutcome, request_id: str) -> Reply:
    """The answer to one text, or to each of a batch."""
    if isinstance(outcome, Correction):
        return text_reply(correction_text(outcome, request_id))
    results = ", ".join([_item_text(each, f"{request_id}-{number}") for number, each in enumerate(outcome, start=1)])
    return text_reply(f'{{"results": [{results}], "request_id": "{request_id}"}}')


def _item_text(outcome: Correction | ServingError, request_id: str) -> str:
    if isinstance(outcome, Correction):
        return correction_text(outcome, request_id)
    if outcome.status >= 500:
        logger.info("item failed", extra={"request_id": request_id, "slug": outcome.slug})
    return to_json(problem(outcome, request_id))
