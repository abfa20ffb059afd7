"""The contract between the two ends of the queue and the code that uses them.

`WorkerMailbox` (worker_end.py) is the worker's end, `ApiMailbox` (api_mailbox.py) the API's; tests/contract/ runs their
suite. Importing this opens nothing.

A request is accepted by `enqueue`, and each of its sentences ends in exactly one completion, also where processes die.
They run at least once; of several answers the first one counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from scheduler.errors import ServingError
from scheduler.messages import MAX_TOTAL_TOKENS, Completion, CorrectionRequest
from scheduler.settings import Settings

if TYPE_CHECKING:
    import asyncio

MAX_ATTEMPTS = 3  # deaths of a worker with nothing but this request; then it is a dead letter
LEASE_S = 1.2  # a silent worker's work is given to others after this; four beats may be missed
BEAT_S = 0.25
MAX_BLOCK_S = 0.5  # a blocked claim must end before the lease does, or a dead worker could still take an id
# /readyz: a worker's loop must have iterated in this time. The promise is 3 s; the rest is for the report to arrive.
READY_WITHIN_S = 2.5
KEPT_TTL_S = 600  # of answers that may be asked for again
FAILURE_TTL_S = 7 * 86_400  # dead letters stay for a week
# While a worker has others, one asynchronous request for so many tokens of its KV cache, a quarter of what it holds of
# the longest, and always one: a batch that they fill makes each iteration, and so everybody's answer, 10 times as slow.
ASYNC_TOKENS = 4 * MAX_TOTAL_TOKENS
FUNCTION_NAME = "miniserve.correct"  # what RQ's tools show as the job's function; there is no such function
MAX_DATA_BYTES = 65_536  # of a job: one of the most tokens takes 2 kB; a few bytes of zlib could hold gigabytes


class MailboxDown(Exception):
    """The mailbox cannot be reached now. Nothing given to it is lost; try again after a pause."""


@dataclass(frozen=True, slots=True)
class MailboxLimits:
    """The bound of the queue, counted over all API processes, and how long answers are kept."""

    max_requests: int = 2048
    max_tokens: int = 131_072
    result_ttl_s: int = 60
    kept_ttl_s: int = KEPT_TTL_S  # of asynchronous requests and of those with an idempotency key
    max_memory_bytes: int = 2**31  # of Redis, where it has no limit of its own

    @classmethod
    def from_settings(cls, settings: Settings) -> MailboxLimits:
        return cls(
            max_requests=settings.max_queue_requests,
            max_tokens=settings.max_queue_tokens,
            result_ttl_s=settings.result_ttl_s,
            kept_ttl_s=max(KEPT_TTL_S, settings.result_ttl_s),
            max_memory_bytes=settings.redis_memory_mb * 2**20,
        )


class ReplyMode(Enum):
    """How the client wants its answer."""

    WAIT = "wait"
    FOLLOW = "follow"  # token by token
    ASYNC = "async"  # nobody waits, and nobody's leaving ends it


Outcome = Completion | ServingError


@dataclass(slots=True, eq=False)
class Submission:
    """An HTTP request in the queue: what is kept of it, its jobs, and what has come back.

    Who submits it says what is wanted. Its mailbox notes the rest, and sends it again where Redis has lost it.
    """

    request_id: str  # its jobs' ids begin with it; an earlier request's where the key stands for that
    document: str = ""  # what any replica needs to give the answer later; '' where nobody may ask for it again
    tokenizer_fingerprint: str = ""  # of the document's sentences and the answers: for another one a key is new
    digest: str = ""  # equal for equal bodies
    key: str = ""  # a digest of the client's idempotency key and of who sent it; '' without one
    manner: ReplyMode = ReplyMode.WAIT
    client: str = ""  # number of the client, which gets no more than a share of the queue; '': not limited
    limits: str = ""  # of that client: requests and tokens a second, 0 for none; '' without
    requests: tuple[CorrectionRequest, ...] = ()  # its jobs, in order
    within_s: float | None = None  # its answers are of no use later
    is_own_deadline: bool = False  # the client chose that, below what the server allows
    is_further: bool = False  # not the first of its client's request; a refusal makes it wait, and counts nowhere
    may_be_known: bool = True  # else all its ids are random and were never sent
    when_left: WhenLeft | None = None  # None: nobody can leave
    allowed_s: float | None = None  # by the client, and the server: its answers are waited for no longer
    until_s: float = inf  # by time.monotonic(): until then, all of them

    is_joined: bool = field(default=False, init=False)  # to an earlier request with its key
    accepted_s: float = field(default=0.0, init=False)  # by time.perf_counter(); 0 until the queue has confirmed it
    run_id: str = field(default="", init=False)  # of the Redis process that has accepted it
    give_up_at_s: float = field(default=0.0, init=False)  # until then it is sent again where Redis is away
    on_reply: OnReply | None = field(default=None, init=False)
    since_s: float = field(default=0.0, init=False)  # somebody waits
    outcomes: dict[str, Outcome | None] = field(default_factory=dict, init=False)  # by job; None: not there yet
    written: dict[str, tuple[int, ...]] = field(default_factory=dict, init=False)  # by job, while it is followed
    missing: set[str] = field(default_factory=set, init=False)  # jobs that are waited for; the first failure ends it
    has_left: bool = field(default=False, init=False)  # its client did, while it was waited for
    # Done when nothing is missing; of a request that is followed, at every change.
    news: asyncio.Future[None] | None = field(default=None, init=False)

    def limit_wait(self, timeout_s: float) -> None:
        """The wait begins, and the server allows so much of it."""
        self.is_own_deadline = self.allowed_s is not None and self.allowed_s < timeout_s
        self.allowed_s = timeout_s if self.allowed_s is None else min(self.allowed_s, timeout_s)
        self.until_s = time.monotonic() + self.allowed_s

    def left_s(self) -> float:
        return max(0.0, self.until_s - time.monotonic())

    def join(self, request_id: str) -> None:
        """Become the request that was there before, for the same work."""
        own, self.request_id, self.may_be_known, self.is_joined = self.request_id, request_id, True, True
        ids = [request_id + one.request_id.removeprefix(own) for one in self.requests]
        self.requests = tuple(replace(one, request_id=each) for one, each in zip(self.requests, ids, strict=True))

    @property
    def is_kept(self) -> bool:
        """Whether somebody may ask for its answers later."""
        return self.manner is ReplyMode.ASYNC or bool(self.key)

    def ttl_s(self, limits: MailboxLimits) -> int:
        """How long its answers are kept."""
        return limits.kept_ttl_s if self.is_kept else limits.result_ttl_s


# Called with what was sent, the reply or an exception, and the run id of the Redis that gave it.
OnReply = Callable[[Any, Any, str], None]
# Takes what the event loop calls when the client leaves, or at once where it has left; None: nothing any more.
WhenLeft = Callable[[Callable[[], None] | None], None]


class CancelResult(Enum):
    """What became of the wish to end a job."""

    DONE = "over"  # it had ended before
    CANCELLED = "canceled"  # it never runs
    CANCELLING = "requested"  # it leaves its worker within a moment, unless its answer is there first


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """What /readyz and the refusals report; of the whole system, not of one process."""

    redis_ok: bool
    live_workers: int = 0  # whose loop has iterated within READY_WITHIN_S
    queue_depth: int = 0  # waiting, those given to workers excluded
    reserved_requests: int = 0  # accepted and unfinished
    num_done: int = 0  # of all time: answered
    num_failed: int = 0  # and given up, or late
    is_suspended: bool = False  # with `rq suspend`
    refusal: str = ""  # what is to be mended where Redis does not answer, or takes no report; empty: nothing is known


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker says of itself with every beat."""

    totals: Mapping[str, float] = field(default_factory=dict)  # what it counted since it started
    gauges: Mapping[str, float] = field(default_factory=dict)  # how it is now
    service_rate_tokens_per_s: float = 0.0  # reserved tokens that it finishes with a full batch; 0: not known yet
    # What it did since the last beat, as JSON; '' where nothing is to be sent. Its argument: whether somebody watches.
    live: Callable[[bool], str] = lambda _: ""
    role: str = "all"


class Reports(Protocol):
    """What a process reports to Redis now and then, each report once. Used from one thread."""

    def command(self) -> tuple[Any, ...] | None:
        """The report to send now; the same again as long as its reply is not known."""

    def note_reply(self, reply: Any) -> None:
        """Take the reply to that command."""
