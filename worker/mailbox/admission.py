"""What the queue refuses, in words, and what an API process remembers of a full queue: the same for every mailbox."""

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
from worker.mailbox.protocol import MailboxLimits

_LONGEST_RETRY_S = 60.0
_UNKNOWN_RETRY_S = 2.0  # nothing was finished yet: one worker start's worth
_LONGEST_FULL_S = 0.05
_BURST = 2
SHARE_HOLDS_S = 0.25  # less than the second after which the client may come back
_LIMIT_HOLDS_S = 1.0  # a limit that the operator has raised counts by then
_MOST_CLIENTS = 1024
_FULL_SHARE = 0.02  # what has ended meanwhile is at most so much of the queue: it never runs dry for this


class KnownFullness:
    """Remembers for a moment that the queue is full, so that a flood of refusals costs Redis little.

    One for each process. Threads may share it: what is known is one tuple.
    """

    def __init__(self, limits: MailboxLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        # Until when, what, and to whom it was said; None: to more than one. Another client is sent to Redis, which must
        # learn that the one that has filled the queue is not alone.
        self._known: tuple[float, tuple[int, int, float], str | None] = (0.0, (0, 0, 0.0), "")
        self.backlog = 0, 0.0  # reserved tokens, and how many are finished in a second, as the replica last heard
        self._refused: dict[str, tuple[float, Callable[[], RateLimited]]] = {}  # by client: until when, and the words

    def note(self, requests: int, tokens: int, tokens_per_s: float, client: str = "") -> QueueFull:
        """Redis has refused with these numbers; returns the refusal in words."""
        fits_nothing = requests >= self._limits.max_requests or self._limits.max_tokens - tokens <= MAX_OUTPUT_TOKENS
        if fits_nothing and tokens_per_s > 0:
            holds_s = min(_LONGEST_FULL_S, _FULL_SHARE * tokens / tokens_per_s)
            now, (until, _, known) = self._clock(), self._known
            whom = client if now > until or known == client else None
            self._known = now + holds_s, (requests, tokens, tokens_per_s), whom
        return queue_full(requests, tokens, tokens_per_s, self._limits)

    def note_client(self, client: str, holds_s: float, words: Callable[[], RateLimited]) -> RateLimited:
        """Note that a client holds its share, or has used what its key allows, and will for so long."""
        if len(self._refused) >= _MOST_CLIENTS:
            self._refused.clear()
        self._refused[client] = self._clock() + min(holds_s, _LIMIT_HOLDS_S), words
        return words()

    def refusal(self, client: str = "", num_waiting: int = 0, num_open: int = 0) -> QueueFull | RateLimited | None:
        """The refusal of any request of this client that comes now; None where Redis is to be asked.

        `num_waiting` are waited for in this process, and Redis has accepted `num_open` of them. Where these fill the
        queue it would refuse, too, but later. The others may be as many again: it may refuse them, and have room.
        """
        now, (until, numbers, known) = self._clock(), self._known
        if (refused := self._refused.get(client)) and now < refused[0]:
            return refused[1]()
        most = self._limits.max_requests
        if num_open >= most or num_waiting >= _BURST * most:
            requests, (tokens, rate) = min(num_waiting, most), self.backlog
            return queue_full(requests, max(tokens, requests * MAX_OUTPUT_TOKENS), rate, self._limits)
        return queue_full(*numbers, self._limits) if now < until and known in (client, None) else None


def check_that_it_may_fit(requests: Sequence[CorrectionRequest], limits: MailboxLimits) -> None:
    """Raises InvalidRequest for what not even an empty queue takes: no waiting would help."""
    if len(requests) < 2:
        return
    tokens = sum(request.reserved_tokens for request in requests)
    if len(requests) > limits.max_requests or tokens > limits.max_tokens:
        raise InvalidRequest(
            "sentence",
            f"The request holds {len(requests)} sentences that may need {tokens:,} tokens; this server queues at most "
            f"{limits.max_requests:,} sentences and {limits.max_tokens:,} tokens. Send it in parts.",
        )


def retry_after_s(backlog_tokens: int, tokens_per_s: float) -> int:
    """Whole seconds, drawn from those between once and twice the time that the backlog of now takes (1 to 60 s).

    By then there is room for a whole queue; requests that were refused together do not come back together, so that up
    to twice as many as the queue holds find room at their first retry.
    """
    seconds = _UNKNOWN_RETRY_S if tokens_per_s <= 0 else min(_LONGEST_RETRY_S, max(1.0, backlog_tokens / tokens_per_s))
    return random.randint(math.ceil(seconds), math.floor(max(2 * seconds, math.ceil(seconds))))


def queue_full(requests: int, tokens: int, tokens_per_s: float, limits: MailboxLimits) -> QueueFull:
    """The refusal, with its numbers."""
    seconds = retry_after_s(tokens, tokens_per_s)
    return QueueFull(
        f"The queue holds {requests:,} of {limits.max_requests:,} requests and {tokens:,} of {limits.max_tokens:,} "
        f"reserved tokens; try again in {seconds} s.",
        seconds,
    )


def rate_limited(own_tokens: int, max_tokens: int, tokens_per_s: float) -> RateLimited:
    """One client holds as much of the queue as it may while others wait."""
    seconds = retry_after_s(own_tokens, tokens_per_s)
    return RateLimited(
        f"This client holds {own_tokens:,} reserved tokens of the queue; while others wait it may hold {max_tokens:,}. "
        f"Try again in {seconds} s.",
        seconds,
    )


def over_limit(what: str, per_s: float, wait_s: float) -> RateLimited:
    """A client has used what its key allows: so many requests or tokens a second, and a second's worth at once."""
    seconds = max(1, math.ceil(wait_s))
    limit = f"This API key may use {per_s:,g} {what.removesuffix('s') if per_s == 1 else what} a second"
    return RateLimited(f"{limit}, and has used them. Try again in {seconds} s.", wait_s)


def memory_full(used_bytes: int, max_bytes: int, seconds: int) -> QueueFull:
    """`seconds`: until a tenth of what is kept is forgotten."""
    after_s = retry_after_s(seconds, 1.0)
    return QueueFull(
        f"Requests and answers take {used_bytes / 2**20:,.1f} MiB of memory; one like this is accepted up to "
        f"{max_bytes / 2**20:,.1f} MiB. Try again in {after_s} s.",
        after_s,
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
