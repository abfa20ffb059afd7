"""What clients get: answers, pending requests and problems, with their headers."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncGenerator, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from api.grammar.correction import Correction, Edit, Steps
from api.service import problems
from api.service.exchange import Exchange
from scheduler.errors import MethodNotAllowed, Overloaded, ServingError, Unauthorized

JSON = "application/json"
EVENTS = "text/event-stream"
# Of every response; the servers write them. Nobody may keep an answer: it holds a user's text.
SECURITY_HEADERS = [("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")]
KEPT_BY_BROWSERS = ("Cache-Control", "no-cache")  # of files that are the same for all: kept, and asked for again
_ANSWER = (
    '{"corrected": %s, "explanation": %s, "edits": [%s], "language": {"code": "%s", "confidence": %s}, "notes": [%s]%s}'
)
_EDIT = (
    '{"start": %s, "end": %s, "original": %s, "replacement": %s, "reason": "%s", "title": "%s", '
    '"explanation": %s, "confidence": %s}'
)
logger = logging.getLogger(__name__)
Header = tuple[str, str]


class Reply(NamedTuple):
    """A response but for the headers that every response has. The body is a generator where it is a stream."""

    body: bytes | AsyncGenerator[bytes]
    status: int
    headers: list[Header]


def json_reply(document: dict[str, Any], status: int = 200, *headers: Header, media_type: str = JSON) -> Reply:
    return text_reply(problems.to_json(document), status, *headers, media_type=media_type)


def text_reply(text: str, status: int = 200, *headers: Header, media_type: str = JSON) -> Reply:
    """Of a document that is JSON already."""
    body = f"{text}\n".encode()
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
    if isinstance(error, MethodNotAllowed):
        headers = [("Allow", error.allowed)]
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


def outcome_reply(
    outcome: Correction | Sequence[Correction | ServingError], request_id: str, in_steps: Steps = iter
) -> Reply:
    """The answer to one text, or to each of a batch."""
    if isinstance(outcome, Correction):
        return text_reply(correction_text(outcome, request_id, in_steps))
    items = enumerate(outcome, start=1)
    results = ", ".join([_item_text(each, f"{request_id}-{number}", in_steps) for number, each in items])
    return text_reply(f'{{"results": [{results}], "request_id": "{request_id}"}}')


def _item_text(outcome: Correction | ServingError, request_id: str, in_steps: Steps) -> str:
    if isinstance(outcome, Correction):
        return correction_text(outcome, request_id, in_steps)
    if outcome.status >= 500:
        logger.info("item failed", extra={"request_id": request_id, "slug": outcome.slug})
    return problems.to_json(problems.problem(outcome, request_id))


def correction_text(correction: Correction, request_id: str, in_steps: Steps = iter) -> str:
    if correction.num_dropped:
        logger.info("edits dropped", extra={"request_id": request_id, "num_dropped": correction.num_dropped})
    return answer_text(correction, f', "request_id": "{request_id}"', in_steps)


def answer_text(correction: Correction, more: str = "", in_steps: Steps = iter) -> str:
    """The answer as JSON; `more`: members that only some have. Made for each request, so no dictionary comes before."""
    edits = ", ".join(map(edit_text, in_steps(correction.edits)))
    notes = ", ".join([problems.to_json(note._asdict()) for note in in_steps(correction.notes)])
    corrected, explanation = encode_basestring(correction.corrected), encode_basestring(correction.explanation)
    return _ANSWER % (corrected, explanation, edits, *correction.language, notes, more)


def edit_text(edit: Edit) -> str:
    """One edit, as every answer has it."""
    words = encode_basestring(edit.original), encode_basestring(edit.replacement)
    reason = edit.reason.value, edit.reason.title, encode_basestring(edit.explanation)
    return _EDIT % (edit.start, edit.end, *words, *reason, edit.confidence)
