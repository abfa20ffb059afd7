"""The reply to what became of a request, with one text or with many."""

from __future__ import annotations

import logging
from typing import Any

from api.grammar.correction import Correction
from api.http.replies import Reply, correction_document, json_reply
from api.service.batch import BatchOutcome
from api.service.problems import problem
from scheduler.errors import ServingError

logger = logging.getLogger(__name__)


def outcome_reply(outcome: Correction | BatchOutcome, request_id: str) -> Reply:
    """The answer to one text, or to each of a batch."""
    if isinstance(outcome, Correction):
        return json_reply(correction_document(outcome, request_id))
    results = [_item_document(each, f"{request_id}-{number}") for number, each in enumerate(outcome, start=1)]
    return json_reply({"results": results, "request_id": request_id})


def _item_document(outcome: Correction | ServingError, request_id: str) -> dict[str, Any]:
    if isinstance(outcome, Correction):
        return correction_document(outcome, request_id)
    if outcome.status >= 500:
        logger.info("item failed", extra={"request_id": request_id, "slug": outcome.slug})
    return problem(outcome, request_id)
