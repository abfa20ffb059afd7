"""The contract between the two ends of the queue and the code that uses them.

Two implementations keep it: Redis (`RedisWorkerMailbox`, `RedisApiMailbox`) and one inside a process
(`InMemoryMailbox`). tests/contract/ runs the same suite against both. Importing this opens nothing.

A request is accepted by `submit` and ends in exactly one completion, whatever dies in between. It runs at least
once; of several answers the first one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler.messages import Completion, CorrectionRequest, Inbox, Room
from scheduler.settings import Settings

MAX_ATTEMPTS = 3  # then the request is a dead letter
LEASE_S = 1.2  # a silent worker's work is given to others after this; four beats may be missed
BEAT_S = 0.25
MAX_BLOCK_S = 0.5  # a blocked claim must end before the lease does, or a dead worker could still take an id
# /readyz: a worker's loop must have turned in this time. It promises 3 s; the rest is for the way from there to here.
READY_WITHIN_S = 2.5
FAILURE_TTL_S = 7 * 86_400  # dead letters stay for a week


class MailboxDown(Exception):
    """The mailbox cannot be reached now. Nothing given to it is lost; try again after a pause."""


@dataclass(frozen=True, slots=True)
class MailboxLimits:
    """The bound of the queue, counted over all API processes, and how long answers are kept."""

    max_requests: int = 2048
    max_tokens: int = 131_072
    result_ttl_s: int = 60
    timeout_s: int = 30  # shown by RQ's tools; deadlines are kept by `wait`

    @classmethod
    def from_settings(cls, settings: Settings) -> MailboxLimits:
        return cls(
            max_requests=settings.max_queue_requests,
            max_tokens=settings.max_queue_tokens,
            result_ttl_s=settings.result_ttl_s,
            timeout_s=max(1, round(settings.request_timeout_s)),
        )


@dataclass(frozen=True, slots=True)
class Ticket:
    """One waiter of one accepted request. The same request may be waited for by several tickets."""

    request: CorrectionRequest
    number: int  # unique in the process

    @property
    def request_id(self) -> str:
        return self.request.request_id


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """What /readyz and the refusals report; of the whole system, not of one process."""

    redis_ok: bool
    live_workers: int = 0  # whose loop has turned within READY_WITHIN_S
    queue_depth: int = 0  # waiting, those given to workers excluded
    reserved_tokens: int = 0  # of all accepted, unfinished requests
    reserved_requests: int = 0
    service_rate_tokens_per_s: float = 0.0  # what the workers together can finish, in reserved tokens
    batch_invariance: str = ""  # what the self-test of the worst live worker found; empty: not known


class WorkerMailbox(Protocol):
    """The worker's end. Used from one thread."""

    def open(self, is_fresh: Callable[[], bool]) -> None:
        """Register and start the heartbeat, which beats only while `is_fresh()`: a hung loop loses its lease.

        Raises MailboxDown.
        """

    def exchange(
        self,
        completions: Sequence[Completion],
        room: Room,
        num_held: int,
        wait_s: float = 0.0,
    ) -> Inbox:
        """Give answers, take requests: one round trip. Waits up to `wait_s` (at most MAX_BLOCK_S) if nothing is there.

        Delivers at most this worker's share, as long as there is `room`; what an earlier worker died with comes alone.
        Every id in `cancelled_ids` is over and to be dropped: a completion for it is ignored. Raises MailboxDown; the
        completions given are then kept and sent by the next call.
        """

    def close(self) -> None:
        """Leave: unfinished requests go back to the queue. Gives up in a few seconds if Redis is down; never raises."""


class ApiMailbox(Protocol):
    """The API's end. Used from many threads or greenlets, and safe to create before a fork."""

    def submit(self, request: CorrectionRequest, within_s: float | None = None) -> Ticket:
        """`submit_all` for one."""
        return self.submit_all((request,), within_s)[0]

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        """Queue requests of different ids, in order: all or none. Every ticket goes to a `wait` or to `abandon`.

        With `within_s` they are of no use later: refused where the load promises no answer by then, and not begun
        after it. Raises QueueFull, DeadlineExceeded, NotReady, ShuttingDown, IdempotencyConflict; InvalidRequest where
        they could never fit.
        """

    def wait(self, ticket: Ticket, timeout_s: float, has_left: Callable[[], bool] | None = None) -> Completion:
        """`wait_all` for one."""
        return self.wait_all((ticket,), timeout_s, has_left)[0]

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        """The completions in order, each stop or length. Uses the tickets up, whatever happens.

        The first failure ends it, and those still unanswered are abandoned. `has_left` is asked every 250 ms; True
        counts as a failure. Raises DeadlineExceeded, RequestFailed, Cancelled, RemovedByOperator, ShuttingDown.
        """

    def abandon(self, ticket: Ticket) -> None:
        """This waiter leaves. The request is cancelled when no other is left, here or in another API process."""

    def cancel(self, request_id: str) -> None:
        """End the request for all who wait for it. Best effort, returns at once."""

    def status(self) -> MailboxStatus:
        """One cheap round trip; never raises."""

    def close(self) -> None:
        """Stop; whoever still waits gets ShuttingDown. Does not need Redis."""
