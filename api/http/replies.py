"""What clients get: answers, pending requests and problems as JSON, and replies that WSGI and Flask both can send."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import structlog
from werkzeug.http import HTTP_STATUS_CODES

from api.grammar.pipeline import Correction, Edit
from api.http import problems
from api.service.jobs import Answer, BatchAnswer, Pending
from api.telemetry.request_log import NO_TIMINGS, Exchange
from scheduler.errors import Overloaded, ServingError
from scheduler.messages import Timings

JSON = "application/json"
LOOK_AGAIN_S = 1
STATUS_LINES = {code: f"{code} {phrase.upper()}" for code, phrase in HTTP_STATUS_CODES.items()}  # as Flask writes them
logger = structlog.get_logger(__name__)
Header = tuple[str, str]


@dataclass(slots=True)
class Reply:
    """A response but for the headers that every response has."""

    status: int
    headers: list[Header]
    body: bytes | Iterable[bytes]


def json_reply(document: dict[str, Any], status: int = 200, media_type: str = JSON) -> Reply:
    body = (problems.to_json(document) + "\n").encode()
    return Reply(status, [("Content-Type", media_type), ("Content-Length", str(len(body)))], body)


def outcome_reply(exchange: Exchange, outcome: Answer | BatchAnswer | Pending) -> Reply:
    """200 with the answer, or 202 while there is none."""
    exchange.request_id = outcome.request_id  # an earlier request's, where an idempotency key stands for that
    if isinstance(outcome, Pending):
        reply = json_reply({"request_id": outcome.request_id, "status": outcome.phase.value}, 202)
        reply.headers.append(("Retry-After", str(LOOK_AGAIN_S)))
        return reply
    exchange.timings = outcome.timings
    return json_reply(outcome_document(outcome))


def error_reply(exchange: Exchange, error: Exception) -> Reply:
    """The problem document of an error. Any but a ServingError is a bug: it is logged, and nothing of it is shown."""
    if not isinstance(error, ServingError):
        error = internal_error(error, exchange.request_id)
    exchange.slug = error.slug
    document = problems.problem(error, exchange.request_id)
    reply = json_reply(document, error.status, problems.MEDIA_TYPE)
    if isinstance(error, Overloaded):
        reply.headers.append(("Retry-After", str(document["retry_after_s"])))
    return reply


def internal_error(error: Exception, request_id: str) -> ServingError:
    """Logs a bug and returns what clients see of it."""
    # Not the message of the exception: it may quote the user's text.
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("internal error", request_id=request_id, error_type=type(error).__name__, traceback=where)
    return ServingError(f"A fault of the server, logged with the request id {request_id}.")


def closing_headers(exchange: Exchange, elapsed_s: float) -> list[Header]:
    """The headers of every response."""
    timing = server_timing(exchange.timings or NO_TIMINGS, elapsed_s)
    return [("X-Request-ID", exchange.correlation_id or exchange.request_id), ("Server-Timing", timing)]


def outcome_document(outcome: Answer | BatchAnswer) -> dict[str, Any]:
    """The JSON object of an answer; of a batch each item is a correction or a problem."""
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
