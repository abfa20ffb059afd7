"""What clients get: answers, pending requests and problems, as replies of Flask and of WSGI alike."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable
from typing import Any, NamedTuple

from api.grammar.correction import Correction, Edit
from api.service import problems
from api.service.exchange import Exchange
from scheduler.errors import Overloaded, ServingError, Unauthorized

JSON = "application/json"
EVENTS = "text/event-stream"
# Of every response; the servers write them. Nobody may keep an answer: it holds a user's text.
SECURITY_HEADERS = [("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")]
KEPT_BY_BROWSERS = ("Cache-Control", "no-cache")  # of files that are the same for all: kept, and asked for again
logger = logging.getLogger(__name__)
Header = tuple[str, str]


class Reply(NamedTuple):
    """A response but for the headers that every response has. Flask takes such a tuple from its views."""

    body: bytes | Iterable[bytes]
    status: int
    headers: list[Header]


def json_reply(document: dict[str, Any], status: int = 200, *headers: Header, media_type: str = JSON) -> Reply:
    body = (problems.to_json(document) + "\n").encode()
    return Reply(body, status, [("Content-Type", media_type), ("Content-Length", str(len(body))), *headers])


def error_reply(exchange: Exchange, error: Exception) -> Reply:
    """The problem document of an error. Any but a ServingError is a bug: it is logged, and nothing of it is shown."""
    if not isinstance(error, ServingError):
        error = internal_error(error, exchange.request_id)
    exchange.slug = error.slug
    document = problems.problem(error, exchange.request_id)
    headers = [("Retry-After", str(document["retry_after_s"]))] if isinstance(error, Overloaded) else []
    if isinstance(error, Unauthorized):
        headers = [("WWW-Authenticate", "Bearer")]
    return json_reply(document, error.status, *headers, media_type=problems.MEDIA_TYPE)


def internal_error(error: Exception, request_id: str) -> ServingError:
    """Logs a bug and returns what clients see of it."""
    # Not the message of the exception: it may quote the user's text.
    about = {"error_type": type(error).__name__, "traceback": "".join(traceback.format_tb(error.__traceback__))}
    logger.error("internal error", extra={"request_id": request_id, **about})
    return ServingError(f"A fault of the server, logged with the request id {request_id}.")


def closing_headers(exchange: Exchange, elapsed_s: float) -> list[Header]:
    """The headers of every response that are its own. An answer that is found again has the times of its run."""
    timings = exchange.timings
    run_s = 0.0 if exchange.has_own_jobs else timings.queue_s + timings.prefill_s + timings.decode_s
    timing = (
        f"queue;dur={timings.queue_s * 1e3:.1f}, prefill;dur={timings.prefill_s * 1e3:.1f}, "
        f"decode;dur={timings.decode_s * 1e3:.1f}, total;dur={max(elapsed_s, run_s) * 1e3:.1f}"
    )
    return [("X-Request-ID", exchange.correlation_id or exchange.request_id), ("Server-Timing", timing)]


def correction_document(correction: Correction, request_id: str) -> dict[str, Any]:
    if correction.num_dropped:
        logger.info("edits dropped", extra={"request_id": request_id, "num_dropped": correction.num_dropped})
    return answer_document(correction) | {"request_id": request_id}


def answer_document(correction: Correction) -> dict[str, Any]:
    """The answer without the id that only a server gives it."""
    return {
        "corrected": correction.corrected, "explanation": correction.explanation,
        "edits": [edit_document(edit) for edit in correction.edits],
        "language": correction.language._asdict(), "notes": [note._asdict() for note in correction.notes],
    }  # fmt: skip


def edit_document(edit: Edit) -> dict[str, Any]:
    """One edit, as every answer has it."""
    return {
        "start": edit.start, "end": edit.end, "original": edit.original, "replacement": edit.replacement,
        "reason": edit.reason.value, "explanation": edit.explanation, "confidence": edit.confidence,
    }  # fmt: skip
