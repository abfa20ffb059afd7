"""Who waits for which answer in this process. Answers come by subscription and by poll; the first counts."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from scheduler.errors import Cancelled, DeadlineExceeded, RequestFailed, ServingError, ShuttingDown
from scheduler.messages import Completion, FinishReason, Progress
from worker.mailbox.admission import expired
from worker.mailbox.protocol import HEARTBEAT_S, AbandonReason, Ticket

if TYPE_CHECKING:  # it loads redis, and not every mailbox needs it
    from worker.mailbox.api_commands import EnqueueRequest

_FAILURES = frozenset((FinishReason.ERROR, FinishReason.CANCELLED, FinishReason.EXPIRED))
Outcome = Completion | ServingError
_HAS_LEFT_EVERY_S = 0.1  # a look costs 3 us: 1,000 who wait, 3 % of a core
_numbers = itertools.count(1)


class Latch:
    """Opens with the last of some answers, or with the first that is a failure: the others are then of no use."""

    def __init__(self) -> None:
        self.num_missing = 0
        self.opened = threading.Event()
        self.news = threading.Event()  # set by every answer, and by every token that is followed

    def look_at(self, outcomes: Sequence[Outcome | None]) -> None:
        self.num_missing += outcomes.count(None)
        self.news.set()
        if self.num_missing == 0 or any(outcome is not None and _is_failure(outcome) for outcome in outcomes):
            self.opened.set()

    def count(self, outcome: Outcome) -> None:
        self.num_missing -= 1
        self.look_at((outcome,))

    def wait(self, timeout_s: float, has_left: Callable[[], bool] | None) -> None:
        """Return when it is open. Raises DeadlineExceeded, and Cancelled once `has_left`."""
        patience = _Patience(timeout_s, has_left)
        slice_s = timeout_s if has_left is None else _HAS_LEFT_EVERY_S
        while not self.opened.wait(min(slice_s, patience.left_s)):
            patience.check()

    def wait_for_news(self, patience: _Patience) -> None:
        """Return when there are any, or after HEARTBEAT_S. Raises as `wait`."""
        until = time.monotonic() + HEARTBEAT_S
        while not self.news.wait(min(_HAS_LEFT_EVERY_S, patience.left_s)):
            patience.check()
            if time.monotonic() >= until:
                return
        patience.check_now_and_then()  # news may come faster than that
        self.news.clear()


class _Patience:
    """Until when somebody waits, and whether it is still there."""

    def __init__(self, timeout_s: float, has_left: Callable[[], bool] | None) -> None:
        self._timeout_s = timeout_s
        self._until = time.monotonic() + timeout_s
        self._has_left = has_left
        self._checked_s = time.monotonic()

    @property
    def left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def check_now_and_then(self) -> None:
        if time.monotonic() - self._checked_s >= _HAS_LEFT_EVERY_S:
            self.check()

    def check(self) -> None:
        """Raises Cancelled, DeadlineExceeded."""
        self._checked_s = time.monotonic()
        if self._has_left is not None and self._has_left():
            raise Cancelled("The client left before the answer was there.")
        if self.left_s == 0.0:
            told = f"No answer within {self._timeout_s:g} s; the request was cancelled."
            raise DeadlineExceeded(f"{told} Give it longer, or try again later.")


@dataclass(slots=True)
class Waiter:
    """Changed only under the lock of its Waiters, but for `run_id`, which the sender's thread sets."""

    ticket: Ticket
    wanted: EnqueueRequest | None = None  # with which it was submitted, for its mailbox to submit it again
    run_id: str = ""  # the Redis process that accepted the request
    outcome: Outcome | None = None
    output_ids: tuple[int, ...] = ()  # so far
    latch: Latch | None = None  # once somebody waits
    since_s: float = field(default_factory=time.monotonic)

    def completion(self) -> Completion:
        """The answer that is there. Raises what it is, where it is a failure."""
        assert self.outcome is not None
        return completion_of(self.outcome)


class Waiters:
    """The same id may be waited for twice in one process, hence a list for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, list[Waiter]] = {}

    def add(self, ticket: Ticket, wanted: EnqueueRequest | None = None) -> Waiter:
        waiter = Waiter(ticket, wanted)
        with self._lock:
            self._by_id.setdefault(ticket.request_id, []).append(waiter)
        return waiter

    def gather(self, tickets: Sequence[Ticket]) -> tuple[list[Waiter], Latch]:
        """The waiters of some tickets and a latch over all of them. Raises KeyError for a ticket that was used up."""
        latch = Latch()
        with self._lock:
            waiters = [self._find(ticket) for ticket in tickets]
            for waiter in waiters:
                waiter.latch = latch
            latch.look_at([waiter.outcome for waiter in waiters])
        return waiters, latch

    def wait_all(
        self,
        tickets: Sequence[Ticket],
        timeout_s: float,
        has_left: Callable[[], bool] | None,
        abandon: Callable[[Ticket, AbandonReason], None],
    ) -> list[Completion]:
        """As the `wait_all` of a mailbox, which says how it abandons what is still unanswered."""
        waiters, latch = self.gather(tickets)
        with self._left_in_the_end(waiters, abandon):
            latch.wait(timeout_s, has_left)
            return completions_of(waiters)

    def follow(
        self,
        tickets: Sequence[Ticket],
        timeout_s: float,
        has_left: Callable[[], bool] | None,
        abandon: Callable[[Ticket, AbandonReason], None],
    ) -> Iterator[Sequence[Completion | tuple[int, ...]]]:
        """As the `follow` of a mailbox."""
        waiters, latch = self.gather(tickets)
        patience = _Patience(timeout_s, has_left)
        with self._left_in_the_end(waiters, abandon):
            while True:
                latch.wait_for_news(patience)
                if latch.opened.is_set():
                    break
                yield [waiter.output_ids if waiter.outcome is None else waiter.completion() for waiter in waiters]
            yield completions_of(waiters)

    @contextmanager
    def _left_in_the_end(
        self, waiters: Sequence[Waiter], abandon: Callable[[Ticket, AbandonReason], None]
    ) -> Iterator[None]:
        """Uses the tickets up, however the waiting ends; who has no answer by then, or gets none, is abandoned."""
        why = AbandonReason.LEFT
        try:
            yield
        except DeadlineExceeded:
            why = AbandonReason.TOO_LATE
            raise
        finally:
            for waiter in waiters:
                if waiter.outcome is None or isinstance(waiter.outcome, ShuttingDown):
                    abandon(waiter.ticket, why)
                else:
                    self.remove(waiter.ticket)

    def _find(self, ticket: Ticket) -> Waiter:
        for waiter in self._by_id.get(ticket.request_id, ()):
            if waiter.ticket.number == ticket.number:
                return waiter
        raise KeyError(f"ticket {ticket.number} was used before")

    def remove(self, ticket: Ticket) -> bool:
        """True if this was the last waiter of its id."""
        with self._lock:
            left = [w for w in self._by_id.get(ticket.request_id, ()) if w.ticket.number != ticket.number]
            if left:
                self._by_id[ticket.request_id] = left
                return False
            return self._by_id.pop(ticket.request_id, None) is not None

    def resolve(self, request_id: str, outcome: Outcome, asked_s: float = inf) -> None:
        """Tell every waiter of an id; those already told keep what they have.

        An end that was published before a request for the same id was accepted is none of its waiter's, nor is what was
        asked before it came.
        """
        is_cancelled = isinstance(outcome, Completion) and outcome.finish_reason is FinishReason.CANCELLED
        with self._lock:
            for waiter in self._by_id.get(request_id, ()):
                is_earlier = waiter.since_s > asked_s or (is_cancelled and waiter.wanted and not waiter.run_id)
                if waiter.outcome is None and not is_earlier:
                    waiter.outcome = outcome
                    if waiter.latch is not None:
                        waiter.latch.count(outcome)

    def refuse(self, waiter: Waiter, refusal: ServingError) -> None:
        """Tell one waiter that its request was not accepted: there is nothing to cancel."""
        with self._lock:
            if waiter.outcome is None:
                waiter.outcome = refusal
                if waiter.latch is not None:
                    waiter.latch.count(refusal)

    def hear(self, progress: Progress) -> None:
        """Tell every waiter of an id what was written so far; a worker that begins anew repeats what is known."""
        with self._lock:
            for waiter in self._by_id.get(progress.request_id, ()):
                if len(progress.output_ids) > len(waiter.output_ids):
                    waiter.output_ids = progress.output_ids
                    if waiter.latch is not None:
                        waiter.latch.news.set()

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

    def resolve_all(self, outcome: Outcome) -> None:
        with self._lock:
            ids = list(self._by_id)
        for request_id in ids:
            self.resolve(request_id, outcome)


def completion_of(outcome: Outcome) -> Completion:
    """The answer. Raises what the outcome is, where it is a failure."""
    if isinstance(outcome, Exception):
        raise outcome
    if outcome.finish_reason is FinishReason.ERROR:
        raise RequestFailed(outcome.error or "The request failed.")
    if outcome.finish_reason is FinishReason.CANCELLED:
        raise Cancelled("The request was cancelled before it had an answer.")
    if outcome.finish_reason is FinishReason.EXPIRED:
        raise expired()
    return outcome


def completions_of(waiters: Sequence[Waiter]) -> list[Completion]:
    """All answers in order. Raises the first failure among those that are there."""
    for waiter in waiters:
        if waiter.outcome is not None and _is_failure(waiter.outcome):
            waiter.completion()
    return [waiter.completion() for waiter in waiters]


def _is_failure(outcome: Outcome) -> bool:
    return isinstance(outcome, Exception) or outcome.finish_reason in _FAILURES


def new_ticket_number() -> int:
    return next(_numbers)
