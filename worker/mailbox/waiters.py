"""Who waits for which answer in this process, and what both API mailboxes do alike.

Answers come by subscription and by poll; the first counts.
"""

from __future__ import annotations

import threading
import time
from _thread import allocate_lock  # gevent's takes 1 us, and nothing here waits while it holds one
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from scheduler.errors import Cancelled, DeadlineExceeded, RequestFailed, ServingError, ShuttingDown
from scheduler.messages import Completion, CorrectionRequest, FinishReason, Progress
from worker.mailbox import admission
from worker.mailbox.formats import EnqueueRequest, check_request_id
from worker.mailbox.protocol import Accepted, ApiMailbox, MailboxLimits, Record, ReplyMode, Ticket

_FAILURES = frozenset((FinishReason.ERROR, FinishReason.CANCELLED, FinishReason.EXPIRED))
Outcome = Completion | ServingError
HAS_LEFT_EVERY_S = 0.1  # a look costs 3 us: 1,000 who wait, 3 % of a core


class Wait:
    """Waits for the last of some answers, or for the first failure, after which the others are of no use."""

    def __init__(self, timeout_s: float, has_left: Callable[[], bool] | None) -> None:
        self.waiters: list[Waiter] = []
        self.is_over = False
        self.news = threading.Event()
        self._num_missing = 0
        self._timeout_s = timeout_s
        self._has_left = has_left
        self.checked_s = time.monotonic()
        self._until_s = self.checked_s + timeout_s

    def begin(self, waiters: list[Waiter]) -> None:
        self.waiters, self._num_missing = waiters, len(waiters)
        for waiter in waiters:
            waiter.wait = self
            if waiter.outcome is not None:
                self.note(waiter.outcome)
        if not waiters:
            self.is_over = True
            self.news.set()

    def note(self, outcome: Outcome) -> None:
        self._num_missing -= 1
        if self._num_missing == 0 or _is_failure(outcome):
            self.is_over = True
        self.note_news()

    def note_news(self) -> None:
        """An answer has come, or a token."""
        if self.is_over:
            self.news.set()

    def wait(self) -> None:
        """Return when it is over. Raises DeadlineExceeded, and Cancelled once the client has left."""
        slice_s = self._timeout_s if self._has_left is None else HAS_LEFT_EVERY_S
        while not self.news.wait(min(slice_s, self.left_s())):
            self.check()

    def completions(self) -> list[Completion]:
        """All answers in order. Raises the first failure among those that are there."""
        outcomes = [waiter.outcome for waiter in self.waiters if waiter.outcome is not None]
        for outcome in filter(_is_failure, outcomes):
            completion_of(outcome)
        return [completion_of(outcome) for outcome in outcomes]

    def left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())

    def check(self) -> None:
        """Raises as `wait`."""
        self.checked_s = time.monotonic()
        if self._has_left is not None and self._has_left():
            raise Cancelled("The client left before the answer was there.")
        if self.checked_s >= self._until_s:
            problem = f"No answer within {self._timeout_s:g} s; the request was cancelled."
            raise DeadlineExceeded(f"{problem} Give it longer, or try again later.")


@dataclass(slots=True, eq=False)
class Waiter(Ticket):
    """A ticket and what came of it. Changed only under the lock of its Waiters."""

    wanted: EnqueueRequest  # with which it was submitted, for its mailbox to submit it again
    run_id: str  # the Redis process that accepted the request, '' until it has; set by the sender's thread
    outcome: Outcome | None = None
    output_ids: tuple[int, ...] = ()  # so far
    wait: Wait | None = None  # once somebody waits
    since_s: float = field(default_factory=time.monotonic)

    def tell(self, outcome: Outcome) -> None:
        """The first outcome counts."""
        if self.outcome is None:
            self.outcome = outcome
            if self.wait is not None:
                self.wait.note(outcome)


class Waiters:
    """The same id may be waited for twice in one process, hence a list for each."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._by_id: dict[str, list[Waiter]] = {}
        self.open_ids: set[str] = set()  # accepted by Redis and not answered: each holds a place of the queue

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, wanted: EnqueueRequest, run_id: str = "") -> tuple[Waiter, ...]:
        """One for each job, where somebody waits for them."""
        if wanted.record.manner is ReplyMode.ASYNC:
            return ()
        waiters = tuple([Waiter(request.request_id, wanted, run_id) for request in wanted.requests])
        with self._lock:
            for waiter in waiters:
                self._by_id.setdefault(waiter.request_id, []).append(waiter)
        return waiters

    def accept(self, waiters: Sequence[Waiter], run_id: str) -> None:
        with self._lock:
            for waiter in waiters:
                waiter.run_id = run_id
                if waiter.request_id in self._by_id:
                    self.open_ids.add(waiter.request_id)

    def begin_wait(self, tickets: Sequence[Waiter], wait: Wait) -> None:
        """Raises KeyError for a ticket that was used up."""
        with self._lock:
            for ticket in tickets:
                if ticket not in self._by_id.get(ticket.request_id, ()):
                    raise KeyError(f"the ticket for {ticket.request_id} was used before")
            wait.begin(list(tickets))

    def remove(self, ticket: Waiter) -> bool:
        """True if this was the last waiter of its id."""
        with self._lock:
            left = [waiter for waiter in self._by_id.get(ticket.request_id, ()) if waiter is not ticket]
            if left:
                self._by_id[ticket.request_id] = left
                return False
            self.open_ids.discard(ticket.request_id)
            return self._by_id.pop(ticket.request_id, None) is not None

    def resolve(self, request_id: str, outcome: Outcome, asked_s: float = inf) -> None:
        """Give every waiter of an id its outcome; a waiter that has one keeps it.

        An end published before a waiter's request was accepted belongs to an earlier request of that id. So does the
        reply to a look-up sent before the waiter came.
        """
        is_cancelled = isinstance(outcome, Completion) and outcome.finish_reason is FinishReason.CANCELLED
        with self._lock:
            for waiter in self._by_id.get(request_id, ()):
                is_earlier = waiter.since_s > asked_s or (is_cancelled and not waiter.run_id)
                if not is_earlier:
                    waiter.tell(outcome)
                    self.open_ids.discard(request_id)

    def refuse(self, waiters: Sequence[Waiter], refusal: ServingError) -> None:
        """End the waits for requests that were not accepted: there is nothing to cancel."""
        with self._lock:
            for waiter in waiters:
                waiter.tell(refusal)

    def hear(self, progress: Progress) -> None:
        """Pass on what was written so far; a worker that restarts the request repeats what is known."""
        with self._lock:
            for waiter in self._by_id.get(progress.request_id, ()):
                if len(progress.output_ids) > len(waiter.output_ids):
                    waiter.output_ids = progress.output_ids
                    if waiter.wait is not None:
                        waiter.wait.note_news()

    def of(self, request_id: str) -> list[Waiter]:
        """One waiter of an id, if somebody waits for it."""
        with self._lock:
            return self._by_id.get(request_id, [])[:1]

    def unanswered(self, older_than_s: float = 0.0) -> list[Waiter]:
        """One waiter of each id that has waited for so long."""
        before = time.monotonic() - older_than_s
        with self._lock:
            firsts = [waiters[0] for waiters in self._by_id.values()]
        return [waiter for waiter in firsts if waiter.outcome is None and waiter.since_s <= before]

    def shut_down(self) -> None:
        with self._lock:
            for waiters in self._by_id.values():
                for waiter in waiters:
                    waiter.tell(admission.shutting_down())


class WaitingMailbox(ApiMailbox):
    """What both API mailboxes do alike: the checks before a request is accepted, and the wait after it."""

    def __init__(self, limits: MailboxLimits | None, waiters: Waiters) -> None:
        self._limits = limits or MailboxLimits()
        self._waiters = waiters
        self._is_closed = False

    @abstractmethod
    def _accept(self, wanted: EnqueueRequest) -> Accepted:
        """The request may fit into an empty queue, and its ids are well-formed."""

    def submit_recorded(
        self, record: Record, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Accepted:
        return self._submit(EnqueueRequest(record, tuple(requests), within_s, may_be_known=bool(record.key)))

    def _submit(self, wanted: EnqueueRequest) -> Accepted:
        if self._is_closed:
            raise admission.shutting_down()
        for request in wanted.requests:
            check_request_id(request.request_id)
        admission.check_that_it_may_fit(wanted.requests, self._limits)
        return self._accept(wanted)

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        with self.waiting(tickets, Wait(timeout_s, has_left)) as wait:
            wait.wait()
            return wait.completions()

    @contextmanager
    def waiting(self, tickets: Sequence[Ticket], wait: Wait) -> Iterator[Wait]:
        """Uses the tickets up, however the waiting ends; who has no answer by then, or gets none, is abandoned."""
        why = FinishReason.CANCELLED
        self._waiters.begin_wait(tickets, wait)
        try:
            yield wait
        except DeadlineExceeded:
            why = FinishReason.EXPIRED
            raise
        finally:
            for ticket in tickets:
                if ticket.outcome is None or isinstance(ticket.outcome, ShuttingDown):
                    self.abandon(ticket, why)
                else:
                    self._waiters.remove(ticket)
            wait.waiters.clear()  # each knows its wait: without the cycle all of it is freed at once


def completion_of(outcome: Outcome) -> Completion:
    """The answer. Raises what the outcome is, where it is a failure."""
    if isinstance(outcome, Exception):
        raise outcome
    if outcome.finish_reason is FinishReason.ERROR:
        raise RequestFailed(outcome.error or "The request failed.")
    if outcome.finish_reason is FinishReason.CANCELLED:
        raise Cancelled("The request was cancelled before it had an answer.")
    if outcome.finish_reason is FinishReason.EXPIRED:
        raise admission.expired()
    return outcome


def _is_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Exception) or outcome.finish_reason in _FAILURES
