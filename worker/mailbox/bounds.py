"""What the queue refuses, in words: the same for every mailbox."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.errors import (
    DeadlineExceeded,
    IdempotencyConflict,
    InvalidRequest,
    QueueFull,
    RemovedByOperator,
    ShuttingDown,
)
from scheduler.messages import CorrectionRequest
from worker.mailbox.protocol import MailboxLimits
from worker.mailbox.rates import retry_after_s


def check_that_it_may_fit(requests: Sequence[CorrectionRequest], limits: MailboxLimits) -> None:
    """Raises InvalidRequest for what not even an empty queue takes: no waiting would help."""
    tokens = sum(request.reserved_tokens for request in requests)
    if len(requests) > 1 and (len(requests) > limits.max_requests or tokens > limits.max_tokens):
        raise InvalidRequest(
            "sentence",
            f"The request holds {len(requests)} sentences that may need {tokens:,} tokens; this server queues at most "
            f"{limits.max_requests:,} sentences and {limits.max_tokens:,} tokens. Send it in parts.",
        )


def shutting_down() -> ShuttingDown:
    """To whom it is said, another replica will answer, or this one's successor."""
    return ShuttingDown("This replica is being stopped; send the request again.", 1.0)


def queue_full(requests: int, tokens: int, tokens_per_s: float, limits: MailboxLimits) -> QueueFull:
    """The refusal, with its numbers."""
    seconds = retry_after_s(tokens, tokens_per_s)
    return QueueFull(
        f"The queue holds {requests:,} of {limits.max_requests:,} requests and {tokens:,} of {limits.max_tokens:,} "
        f"reserved tokens; try again in {seconds} s.",
        seconds,
    )


def expired() -> DeadlineExceeded:
    """It was dropped when its turn came, or from the batch it was in."""
    return DeadlineExceeded("The deadline was over before the answer was there. Try again later.")


def conflict() -> IdempotencyConflict:
    """The same key or id came with another body."""
    return IdempotencyConflict("A request with this key and another body was sent before; take a new key for it.")


def removed() -> RemovedByOperator:
    """Its job is gone, and Redis has lost nothing."""
    return RemovedByOperator("The request was deleted from the queue by hand.")


def too_late(tokens: int, tokens_per_s: float, within_s: float) -> DeadlineExceeded:
    """`tokens`: reserved by all that is accepted, and by the request itself."""
    return DeadlineExceeded(
        f"At the present load the answer would come after {1e3 * tokens / tokens_per_s:,.0f} ms, later than the "
        f"{within_s * 1e3:,.0f} ms it may take; nothing was queued. Try again later."
    )


def check_in_time(pending_tokens: int, new_tokens: int, tokens_per_s: float, within_s: float | None) -> None:
    """Raises DeadlineExceeded where the load promises no answer in time; as ENQUEUE does it over Redis.

    Where nothing is pending everything is taken, or a rate that was measured wrong once would stand for ever.
    """
    tokens = pending_tokens + new_tokens
    if within_s is not None and pending_tokens and tokens > tokens_per_s * within_s and tokens_per_s > 0:
        raise too_late(tokens, tokens_per_s, within_s)
