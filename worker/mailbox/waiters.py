"""Who waits for which answer in this process. Answers come by subscription and by poll; the first counts."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field

from scheduler.errors import ServingError
from scheduler.messages import Completion
from worker.mailbox.protocol import Ticket

Outcome = Completion | ServingError
_numbers = itertools.count(1)


@dataclass(slots=True)
class Waiter:
    """Changed only under the lock of its Waiters, but for `run_id`, which the sender's thread sets."""

    ticket: Ticket
    run_id: str = ""  # the Redis process that accepted the request
    outcome: Outcome | None = None
    answered: threading.Event = field(default_factory=threading.Event)
    since_s: float = field(default_factory=time.monotonic)


class Waiters:
    """The same id may be waited for twice in one process, hence a list for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, list[Waiter]] = {}

    def add(self, ticket: Ticket) -> Waiter:
        waiter = Waiter(ticket)
        with self._lock:
            self._by_id.setdefault(ticket.request_id, []).append(waiter)
        return waiter

    def find(self, ticket: Ticket) -> Waiter:
        """Raises KeyError for a ticket that was used up."""
        with self._lock:
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

    def resolve(self, request_id: str, outcome: Outcome) -> None:
        """Tell every waiter of an id; those already told keep what they have."""
        with self._lock:
            for waiter in self._by_id.get(request_id, ()):
                if waiter.outcome is None:
                    waiter.outcome = outcome
                    waiter.answered.set()

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


def new_ticket_number() -> int:
    return next(_numbers)
