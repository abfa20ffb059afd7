"""Every way a request can be refused or fail: each class carries its HTTP status, its problem slug and its title.

`SettingsError` stands apart: it ends a process at start and never reaches a client.
Messages, the `detail` of the problem document, say value, limit and remedy; they never repeat the user's text.
`make generate` puts docstrings or titles into docs/reference.md.
"""

from __future__ import annotations

from scheduler.messages import MAX_PROMPT_TOKENS, MAX_WORDS


class SettingsError(ValueError):
    """A setting has a value outside its range; the message names the setting and the range."""


class ServingError(Exception):
    """A bug of the server, logged under the request id."""

    status = 500
    slug = "internal-error"
    title = "Internal error"


class MalformedJson(ServingError):
    status, slug, title = 400, "malformed-json", "The body is not JSON"


class InvalidHeader(ServingError):
    status, slug, title = 400, "invalid-header", "A request header is invalid"


class Unauthorized(ServingError):
    """The server asks for an API key, and none that is valid came; `WWW-Authenticate: Bearer`."""

    status, slug, title = 401, "unauthorized", "No valid API key"


class NotFound(ServingError):
    status, slug, title = 404, "not-found", "Not found"


class MethodNotAllowed(ServingError):
    status, slug, title = 405, "method-not-allowed", "Method not allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"{method} is not allowed here; allowed: {allowed}.")
        self.allowed = allowed


class Cancelled(ServingError):
    status, slug, title = 409, "cancelled", "The request was cancelled"


class IdempotencyConflict(ServingError):
    status, slug, title = 409, "idempotency-conflict", "The Idempotency-Key was used with another body"


class RemovedByOperator(ServingError):
    """The job was deleted from the queue by hand, for instance in the dashboard."""

    status, slug, title = 410, "removed-by-operator", "An operator removed the request"


class BodyTooLarge(ServingError):
    status, slug, title = 413, "body-too-large", "The body is too large"


class UnsupportedMediaType(ServingError):
    status, slug, title = 415, "unsupported-media-type", "Unsupported media type"


class InvalidRequest(ServingError):
    """A field is missing, empty or unusable; `field` names it."""

    status, slug, title = 422, "invalid-request", "A field is invalid"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class SentenceTooLong(ServingError):
    """The only sentence of the text has more words or tokens than the model takes; the answer has the numbers."""

    status, slug, title = 422, "sentence-too-long", "The sentence is too long"

    def __init__(self, num_words: int, num_tokens: int | None = None) -> None:
        """`num_tokens` is None where the text was refused before anything dear was done with it."""
        words = f"{num_words:,} word{'' if num_words == 1 else 's'}"
        tokens = f"more than {MAX_PROMPT_TOKENS}" if num_tokens is None else f"{num_tokens:,}"
        size = words if num_words > MAX_WORDS and num_tokens is None else f"{words} and {tokens} tokens"
        remedy = "Split it into shorter sentences." if num_words > 1 else "Shorten it."
        super().__init__(
            f"The sentence has {size}; the model takes {MAX_WORDS} words and {MAX_PROMPT_TOKENS} tokens. {remedy}"
        )
        self.num_words = num_words
        self.num_tokens = num_tokens


class NeedsAQueue(ServingError):
    """The server runs in a mode without a queue, and what is asked for is kept for later."""

    status, slug, title = 501, "needs-a-queue", "This mode has no queue"


class RequestFailed(ServingError):
    """Three attempts to run the request failed; it is kept as a dead letter."""

    status, slug, title = 502, "request-failed", "The request failed"


class Overloaded(ServingError):
    """The request was refused for now; `retry_after_s` says when to come back."""

    status = 503

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QueueFull(Overloaded):
    """Too many unfinished requests, reserved tokens or connections, or a Redis that is nearly full."""

    slug, title = "queue-full", "The queue is full"


class RateLimited(Overloaded):
    """One client holds its share of the queue or of the connections, and others wait; or its key has used its limit."""

    status, slug, title = 429, "rate-limited", "Too much from one client"


class NotReady(Overloaded):
    """Redis does not answer or is full, or no worker is live; for `/readyz` also: none answers what waits."""

    slug, title = "not-ready", "Not ready"


class ShuttingDown(Overloaded):
    """This API process is being stopped and takes nothing new."""

    slug, title = "shutting-down", "Shutting down"


class DeadlineExceeded(ServingError):
    """No answer within the deadline, or none possible by the predicted finish; `detail` says where the time went."""

    status, slug, title = 504, "deadline-exceeded", "No answer in time"
