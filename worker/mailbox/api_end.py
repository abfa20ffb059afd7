"""The API's end of the Redis mailbox: one subscription and one coalescing sender per process.

Both are made when the first request comes, separately in every process: a server that forks after loading us gets
working threads (or greenlets) in each child.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from redis import Redis, ResponseError

from scheduler.errors import NotReady, QueueFull
from scheduler.messages import Completion, CorrectionRequest, Progress, WireError
from scheduler.observed import Observed
from worker.mailbox import bounds, formats
from worker.mailbox.errands import Errand, cancel_command, found_job, outcome_of
from worker.mailbox.found_traces import FoundTrace, found_trace
from worker.mailbox.fullness import Fullness
from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.listener import Listener
from worker.mailbox.observatory import observe_command, observed_of
from worker.mailbox.protocol import (
    Accepted,
    ApiMailbox,
    CallOff,
    Found,
    MailboxLimits,
    MailboxStatus,
    Manner,
    Parting,
    Record,
    Ticket,
)
from worker.mailbox.sender import Sender
from worker.mailbox.waiters import Waiter, Waiters, new_ticket_number
from worker.mailbox.watch import status_command, status_of

logger = logging.getLogger(__name__)
SUBMIT_PATIENCE_S = 2.0  # spans a Redis that is being restarted
_UNREACHABLE = "Redis does not answer; try again shortly."
STATUS_PATIENCE_S = 0.5


class RedisApiMailbox(ApiMailbox):
    """Keeps the ApiMailbox protocol."""

    keeps_requests = True

    def __init__(self, client: Redis, limits: MailboxLimits | None = None) -> None:
        self._client = client
        self._limits = limits or MailboxLimits()
        self._desks: dict[int, _Desk] = {}  # by process id: a child never uses its parent's threads
        self._making = threading.Lock()
        self._is_closed = False

    def known_refusal(self) -> QueueFull | None:
        return None if self._is_closed else self._desk().fullness.refusal()

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        return self._submit(Errand(tuple(requests), within_s)).tickets

    def submit_recorded(
        self, record: Record, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Accepted:
        return self._submit(Errand(tuple(requests), within_s, record))

    def _submit(self, errand: Errand) -> Accepted:
        if self._is_closed:
            raise bounds.shutting_down()
        for request in errand.requests:
            formats.check_request_id(request.request_id)
        bounds.check_that_it_may_fit(errand.requests, self._limits)
        return self._desk().submit(errand)

    def find(self, request_id: str) -> Found | None:
        if not formats.is_request_id(request_id):
            return None
        reply = self._ask(script("find", request_id))
        if not reply:
            return None
        document, maker, *jobs = reply
        return Found(document.decode(), maker.decode(), tuple(found_job(*job) for job in jobs))

    def trace(self, request_id: str) -> FoundTrace | None:
        ttl_s = self._limits.trace_ttl_s
        if not ttl_s or not formats.is_request_id(request_id):
            return None
        return found_trace(request_id, self._ask(script("trace", request_id, ttl_s)))

    def _ask(self, command: Command) -> Any:
        try:
            return self._desk().sender.ask(command, SUBMIT_PATIENCE_S)[0]
        except LineDown as error:
            raise NotReady(_why(error), 1.0) from error

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        return self._desk().waiters.wait_all(tickets, timeout_s, has_left, self.abandon)

    def follow(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> Iterator[Sequence[Completion | tuple[int, ...]]]:
        return self._desk().waiters.follow(tickets, timeout_s, has_left, self.abandon)

    def abandon(self, ticket: Ticket, why: Parting = Parting.LEFT) -> None:
        desk = self._desk()
        if desk.waiters.remove(ticket):
            desk.post_cancel(ticket.request_id, why)

    def cancel(self, request_id: str) -> CallOff:
        return CallOff(self._ask(cancel_command(request_id, "", Parting.LEFT)).decode())

    def status(self) -> MailboxStatus:
        try:
            reply, _ = self._desk().sender.ask(status_command(), STATUS_PATIENCE_S)
        except LineDown:
            return MailboxStatus(redis_ok=False)
        return status_of(reply)

    def observe(self) -> Observed:
        return observed_of(self._ask(observe_command()))

    def close(self) -> None:
        self._is_closed = True
        desk = self._desks.get(os.getpid())
        if desk is not None:
            desk.close()

    def _desk(self) -> _Desk:
        pid = os.getpid()
        desk = self._desks.get(pid)
        if desk is None:
            with self._making:
                desk = self._desks.get(pid) or self._desks.setdefault(pid, _Desk(self._client, self._limits))
        return desk


def _why(error: LineDown) -> str:
    is_refusal = isinstance(error.__cause__, ResponseError)
    return "Redis takes nothing new, it may be out of memory; try again shortly." if is_refusal else _UNREACHABLE


class _Desk:
    """What one process has: its reply channel, its waiters, its two threads."""

    def __init__(self, client: Redis, limits: MailboxLimits) -> None:
        self.channel = f"miniserve:reply:{os.getpid()}-{secrets.token_hex(6)}"
        self.waiters = Waiters()
        self.sender = Sender(Line(client))
        self.fullness = Fullness(limits)
        self._limits = limits
        self._listener = Listener(client, self.channel, self._hear, self._poll)

    def submit(self, errand: Errand) -> Accepted:
        within_s, record = errand.within_s, errand.record
        patience_s = SUBMIT_PATIENCE_S if within_s is None else min(SUBMIT_PATIENCE_S, within_s)
        if not self._listener.wait_until_subscribed(patience_s):
            raise NotReady(_UNREACHABLE, 1.0)
        is_awaited = record is None or record.manner is not Manner.ASYNC
        tickets = tuple(Ticket(request, new_ticket_number()) for request in errand.requests if is_awaited)
        waiters = [self.waiters.add(ticket, errand) for ticket in tickets]
        try:
            reply, run_id = self.sender.ask(errand.command(self.channel, self._limits), patience_s)
            self._check_accepted(reply, within_s)
        except BaseException as error:
            self._forget(tickets)
            if isinstance(error, LineDown):
                raise NotReady(_why(error), 1.0) from error
            raise
        if reply[0] == b"known":
            self._forget(tickets)
            return self.submit(errand.under(reply[1].decode()))
        for waiter in waiters:
            waiter.run_id = run_id
        if reply[0] == b"attached":
            self._look_up(waiters)  # the answer may be older than the subscription
        return Accepted("" if record is None else record.request_id, tickets)

    def _forget(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            self.waiters.remove(ticket)

    def post_cancel(self, request_id: str, why: Parting) -> None:
        self.sender.post(cancel_command(request_id, self.channel, why), SUBMIT_PATIENCE_S)

    def close(self) -> None:
        self.waiters.resolve_all(bounds.shutting_down())
        self._listener.stop()
        self.sender.stop()

    def _check_accepted(self, reply: list[Any], within_s: float | None) -> None:
        if reply[0] == b"conflict":
            raise bounds.conflict()
        if reply[0] == b"full":
            raise self.fullness.note(reply[1], reply[2], float(reply[3]))
        if reply[0] == b"late" and within_s is not None:
            raise bounds.too_late(reply[1], float(reply[2]), within_s)

    def _hear(self, message: bytes) -> None:
        for payload in message.split(b"\n"):
            self._resolve(payload)

    def _resolve(self, payload: bytes) -> None:
        try:
            news = formats.decode_news(payload)
        except WireError as error:  # whose it is will be found by the poll
            logger.error("an answer cannot be read: %s", error)
            return
        if isinstance(news, Progress):
            self.waiters.hear(news)
        else:
            self.waiters.resolve(news.request_id, news)

    def _poll(self, sweeps_all: bool) -> None:
        """Ask for the answers of those who wait long, or of all after a subscription that may have missed some."""
        self._look_up(self.waiters.unanswered(older_than_s=0.0 if sweeps_all else 1.0))

    def _look_up(self, waiters: list[Waiter]) -> None:
        # Only those whose request was accepted: a run id is there. The others' ENQUEUE is still under way.
        asked = [waiter for waiter in waiters if waiter.run_id]
        if asked:
            command = script("check", *(waiter.ticket.request_id for waiter in asked))
            on_reply = lambda states, run_id: self._learn(asked, states, run_id)  # noqa: E731
            self.sender.post(command, SUBMIT_PATIENCE_S, on_reply)

    def _learn(self, asked: list[Waiter], states: list[Any], run_id: str) -> None:
        lost: dict[int, list[Waiter]] = {}
        for waiter, (state, payload) in zip(asked, states, strict=True):
            request_id = waiter.ticket.request_id
            outcome = outcome_of(request_id, state, payload)
            if outcome is not None:
                self.waiters.resolve(request_id, outcome)
            elif state == b"gone" and waiter.run_id == run_id:
                self.waiters.resolve(request_id, bounds.removed())
            elif state == b"gone":
                lost.setdefault(id(waiter.errand), []).append(waiter)
        for waiters in lost.values():
            self._submit_again(waiters)

    def _submit_again(self, waiters: list[Waiter]) -> None:
        """Redis was restarted and has lost its last moments, and one request of several jobs with them."""
        errand = waiters[0].errand

        def on_reply(reply: list[Any], run_id: str) -> None:
            if reply[0] in (b"known", b"conflict") and errand.record is not None:
                # Somebody was here first with the same key: these jobs run beside it.
                errand.record = replace(errand.record, key="")
            elif reply[0] in (b"accepted", b"attached"):  # else: the next poll tries again, until the deadline
                for waiter in waiters:
                    waiter.run_id = run_id

        self.sender.post(errand.command(self.channel, self._limits), SUBMIT_PATIENCE_S, on_reply)
