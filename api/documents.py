"""Answers as the JSON objects that clients get."""

from __future__ import annotations

from typing import Any

import structlog

from api import problems
from api.agent import Correction, Edit
from api.jobs import Answer, BatchAnswer
from scheduler.errors import ServingError
from scheduler.messages import Timings

logger = structlog.get_logger(__name__)


def outcome_document(outcome: Answer | BatchAnswer) -> dict[str, Any]:
    """What a client is told; of a batch each item, a correction or a problem."""
    if isinstance(outcome, Answer):
        if outcome.correction.num_dropped:
            logger.info("edits dropped", request_id=outcome.request_id, num_dropped=outcome.correction.num_dropped)
        return _correction_document(outcome.correction, outcome.request_id)
    items = enumerate(outcome.outcomes, start=1)
    results = [_item_document(item, f"{outcome.request_id}-{number}") for number, item in items]
    return {"results": results, "request_id": outcome.request_id}


def edit_document(edit: Edit) -> dict[str, Any]:
    return {
        "start": edit.start, "end": edit.end, "original": edit.original, "replacement": edit.replacement,
        "reason": edit.reason.value, "explanation": edit.explanation,
    }  # fmt: skip


def _item_document(item: Answer | ServingError, request_id: str) -> dict[str, Any]:
    if isinstance(item, Answer):
        return outcome_document(item)
    if item.status >= 500:
        logger.info("item failed", request_id=request_id, slug=item.slug)
    return problems.problem(item, request_id)


def _correction_document(correction: Correction, request_id: str) -> dict[str, Any]:
    return {
        "corrected": correction.corrected,
        "explanation": correction.explanation,
        "edits": [edit_document(edit) for edit in correction.edits],
        "request_id": request_id,
    }


def server_timing(timings: Timings, total_s: float) -> str:
    """The header Server-Timing, in ms."""
    return (
        f"queue;dur={timings.queue_s * 1e3:.1f}, prefill;dur={timings.prefill_s * 1e3:.1f}, "
        f"decode;dur={timings.decode_s * 1e3:.1f}, total;dur={total_s * 1e3:.1f}"
    )
