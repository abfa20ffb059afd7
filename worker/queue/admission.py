"""What the queue refuses, in words, and what an API process remembers of refusals."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence

from scheduler.errors import (
    DeadlineExceeded,
    IdempotencyConflict,
    InvalidRequest,
    QueueFull,
    RateLimited,
    RemovedByOperator,
    ShuttingDown,
)
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest
from worker.queue.protocol import MailboxLimits

_LONGEST_RETRY_S = 60.0
_UNKNOWN_RETRY_S = 2.0  # nothing was finished yet: one worker start's worth
FULL_HOLDS_S = 1.0
_ASK_AFTER = 1 / 16  # of the backlog's time one asks whether others have left room; after twice the time four
_LONGEST_ASK_AFTER_S = 0.1
SHARE_HOLDS_S = 0.25  # less than the second after which the client may come back
LONGEST_LIMIT_S = 1.0  # a limit that the operator has raised counts by then
_MOST_CLIENTS = 1024
_ASYNC_SHARE = 0.875  # of the bound, for asynchronous requests, as ENQUEUE has it
Words = Callable[[], QueueFull | RateLimited]  # drawn anew for each: their times are spread
_NOTHING: tuple[float, Words] = -math.inf, lambda: QueueFull("", 0.0)


class KnownRefusals:
    """Remembers for some ms what Redis has refused, to all or to one client: a flood of refusals costs Redis little.

    Since the queue was full as many requests ask Redis as places have become free by this process, so that the queue
    never runs dry; and with time some more, for places that others have left. One for each process.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Words]] = {}  # by client: until when, and the words
        self._full, self._full_s = _NOTHING, 0.0  # the same of the queue, and when it was full
        self._ask_after_s = _LONGEST_ASK_AFTER_S
        self._num_ended = self._num_asked = 0  # since then

    def note(self, words: Words, holds_s: float, client: str) -> QueueFull | RateLimited:
        """Note that what was just refused to this client will be for so long. Return the refusal."""
        if len(self._known) >= _MOST_CLIENTS:
            self._known.clear()
        self._known[client] = self._clock() + holds_s, words
        return words()

    def note_full(self, words: Words, backlog_s: float) -> QueueFull | RateLimited:
        """Note that the queue has no room for anything, and holds so many seconds of work. Return the refusal."""
        now = self._clock()
        self._ask_after_s = min(_LONGEST_ASK_AFTER_S, _ASK_AFTER * max(0.01, backlog_s))
        self._full, self._full_s = (now + FULL_HOLDS_S, words), now
        self._num_ended = self._num_asked = 0
        return words()

    def note_end(self) -> None:
        """A request of this process has left the queue."""
        self._num_ended += 1

    def refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        """The refusal of a request of this client that comes now; None where this one is to ask Redis."""
        now = self._clock()
        until_s, words = self._known.get(client, _NOTHING)
        if now < until_s:
            return words()
        until_s, words = self._full
        return words() if now < until_s and not self._may_ask(now) else None

    def _may_ask(self, now: float) -> bool:
        if self._num_asked >= self._num_ended + int((now - self._full_s) / self._ask_after_s) ** 2:
            return False
        self._num_asked += 1
        return True


def fits_nothing(requests: int, tokens: int, limits: MailboxLimits) -> bool:
    """Whether a queue with these numbers has no room for any request."""
    return requests >= limits.max_requests or limits.max_tokens - tokens <= MAX_OUTPUT_TOKENS


def check_that_it_may_fit(requests: Sequence[CorrectionRequest], limits: MailboxLimits, is_async: bool) -> None:
    """Raises InvalidRequest for what not even an empty queue takes: no waiting would help."""
    if len(requests) < 2:
        return
    part = _ASYNC_SHARE if is_async else 1
    most_requests, most_tokens = int(limits.max_requests * part), int(limits.max_tokens * part)
    tokens = sum(request.reserved_tokens for request in requests)
    if len(requests) > most_requests or tokens > most_tokens:
        raise InvalidRequest(
            "body",
            f"The request holds {len(requests)} sentences that may need {tokens:,} tokens; this server queues at most "
            f"{most_requests:,} sentences and {most_tokens:,} tokens of a request like this. Send it in parts.",
        )


def backlog_s(tokens: int, tokens_per_s: float) -> float:
    """How long the workers need for so many reserved tokens; two seconds where they have finished nothing yet."""
    return tokens / tokens_per_s if tokens_per_s > 0 else _UNKNOWN_RETRY_S


def retry_after_s(backlog_tokens: int, tokens_per_s: float) -> int:
    """Return the whole seconds that the backlog of now takes."""
    return spread_s(backlog_s(backlog_tokens, tokens_per_s))


def spread_s(seconds: float) -> int:
    """Return 1 to 60 s, and at random up to a quarter more: requests refused together do not come back together."""
    bounded = math.ceil(min(_LONGEST_RETRY_S, max(1.0, seconds)))
    return math.floor(bounded * random.uniform(1.0, 1.25) + random.random())


def queue_full(requests: int, tokens: int, tokens_per_s: float, limits: MailboxLimits) -> QueueFull:
    """The refusal, with its numbers."""
    seconds = retry_after_s(tokens, tokens_per_s)
    return QueueFull(
        f"The queue holds {requests:,} of {limits.max_requests:,} requests and {tokens:,} of {limits.max_tokens:,} "
        f"reserved tokens; try again in {seconds} s.",
        seconds,
    )


def too_many_asking(max_requests: int) -> QueueFull:
    """The queue has not said yet that it is full, and nearly all that ask it now will be refused."""
    return QueueFull(
        f"Many more requests than the queue holds ({max_requests:,}) ask it now; try again.", spread_s(1.0)
    )


def over_share(own_requests: int, own_tokens: int, tokens_per_s: float, limits: MailboxLimits) -> RateLimited:
    """One client holds as much of the queue as it may while others wait."""
    seconds = retry_after_s(own_tokens, tokens_per_s)
    return RateLimited(
        f"This client holds {own_requests:,} requests and {own_tokens:,} reserved tokens of the queue; while others "
        f"wait it may hold half: {limits.max_requests // 2:,} and {limits.max_tokens // 2:,}. "
        f"Try again in {seconds} s.",
        seconds,
    )


def over_limit(what: str, per_s: float, wait_s: float) -> RateLimited:
    """A client has used what its key allows: so many requests or tokens a second, and a second's worth at once."""
    seconds = max(1, math.ceil(wait_s))
    limit = f"This API key may use {per_s:,g} {what.removesuffix('s') if per_s == 1 else what} a second"
    return RateLimited(f"{limit}, and has used them. Try again in {seconds} s.", wait_s)


def memory_full(used_bytes: int, most_bytes: int, result_ttl_s: int) -> QueueFull:
    """Redis uses as much of its memory as it may for requests like this one."""
    seconds = spread_s(result_ttl_s / 4)  # by then a quarter of the plain answers is forgotten
    return QueueFull(
        f"Redis uses {used_bytes / 2**20:,.1f} MiB of its memory; a request like this is accepted up to "
        f"{most_bytes / 2**20:,.1f} MiB. Try again in {seconds} s.",
        seconds,
    )


def too_late(tokens: int, tokens_per_s: float, within_s: float) -> DeadlineExceeded:
    """`tokens`: reserved by all that is accepted, and by the request itself."""
    return DeadlineExceeded(
        f"At the present load the answer would come after {1e3 * tokens / tokens_per_s:,.0f} ms, later than the "
        f"{within_s * 1e3:,.0f} ms it may take; nothing was queued. Try again later."
    )


def shutting_down() -> ShuttingDown:
    """Another replica will answer, or this one's successor."""
    return ShuttingDown("This replica is being stopped; send the request again.", 1.0)


def expired() -> DeadlineExceeded:
    """The request was dropped when its turn came, or from the batch it was in."""
    return DeadlineExceeded("The deadline was over before the answer was there. Try again later.")


def conflict() -> IdempotencyConflict:
    """The same key or id came with another body."""
    return IdempotencyConflict("A request with this key and another body was sent before; take a new key for it.")


def removed() -> RemovedByOperator:
    """The job is gone, and Redis has lost nothing."""
    return RemovedByOperator("The request was deleted from the queue by hand.")
