"""An example of every problem document, made by the errors themselves."""

from __future__ import annotations

from api.http import problems
from scheduler import errors

_ID = "1345054c67ba1a4be2bc74a0ab958794"
ERRORS: tuple[errors.ServingError, ...] = (
    errors.MalformedJson("The body is not JSON: Expecting value at character 0."),
    errors.InvalidHeader(
        "X-Deadline-Ms is 'soon'; send a whole number of milliseconds from 1 to 600,000, or leave it out."
    ),
    errors.Unauthorized("This server asks for an API key: send it as Authorization: Bearer <key>."),
    errors.NotFound("No request has this id, or its answer is no longer kept."),
    errors.MethodNotAllowed("GET is not allowed here; allowed: OPTIONS, POST."),
    errors.Cancelled("The request was cancelled."),
    errors.IdempotencyConflict("This Idempotency-Key was used with another body; use a new one for each request."),
    errors.RemovedByOperator("The job was deleted from the queue by hand."),
    errors.BodyTooLarge("The body has 300,000 bytes; at most 262,144 are taken: send the text in parts."),
    errors.UnsupportedMediaType("Send the body as UTF-8 JSON, with the header Content-Type: application/json."),
    errors.InvalidRequest("sentence", '`sentence` is missing; send {"sentence": "He goed to school"}.'),
    errors.SentenceTooLong(70, 96),
    errors.RateLimited("You hold half of the queue, and others wait.", 2.0),
    errors.ServingError(f"A fault of the server, logged with the request id {_ID}."),
    errors.RequestFailed("Three attempts to run the request failed."),
    errors.QueueFull("The queue holds 2,048 requests; at most 2,048 are taken.", 3.0),
    errors.NotReady("Redis does not answer.", 1.0),
    errors.ShuttingDown("This replica is being stopped; ask another one.", 1.0),
    errors.DeadlineExceeded("No answer within 30 s; the request was cancelled. Give it longer, or try again later."),
)
STATUSES = {error.slug: error.status for error in ERRORS}
TITLES = {error.slug: error.title for error in ERRORS}


def examples() -> dict[str, dict[str, object]]:
    """Return OpenAPI's Example objects by slug."""
    return {error.slug: {"summary": error.title, "value": problems.problem(error, _ID)} for error in ERRORS}
