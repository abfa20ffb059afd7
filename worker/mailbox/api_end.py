"""The API's end of the Redis mailbox: one subscription and one coalescing sender per process.

Both are made when the first request comes, separately in every process: a server that forks after loading us gets
working threads (or greenlets) in each child.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redis import Redis, ResponseError

from scheduler.errors import NotReady, RequestFailed, ServingError
from scheduler.messages import Completion, CorrectionRequest, FinishReason, Progress, WireError
from worker.mailbox import bounds, formats
from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.listener import Listener
from worker.mailbox.protocol import (
    FAILURE_TTL_S,
    LEASE_S,
    READY_WITHIN_S,
    Accepted,
    ApiMailbox,
    Found,
    FoundJob,
    MailboxLimits,
    MailboxStatus,
    Manner,
    Parting,
    Phase,
    Record,
    Ticket,
)
from worker.mailbox.sender import Sender
from worker.mailbox.waiters import Waiter, Waiters, new_ticket_number

logger = logging.getLogger(__name__)
SUBMIT_PATIENCE_S = 2.0  # spans a Redis that is being restarted
_UNREACHABLE = "Redis does not answer; try again shortly."
STATUS_PATIENCE_S = 0.5
NOBODY = "-"  # as in common.lua
_LONGEST_RUN_S = 60
_PHASES = {b"queued": Phase.QUEUED, b"started": Phase.RUNNING}


class RedisApiMailbox(ApiMailbox):
    """Keeps the ApiMailbox protocol."""

    keeps_requests = True

    def __init__(self, client: Redis, limits: MailboxLimits | None = None) -> None:
        self._client = client
        self._limits = limits or MailboxLimits()
        self._desks: dict[int, _Desk] = {}  # by process id: a child never uses its parent's threads
        self._making = threading.Lock()
        self._is_closed = False

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        return self._submit(_Errand(tuple(requests), within_s)).tickets

    def submit_recorded(
        self, record: Record, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Accepted:
        return self._submit(_Errand(tuple(requests), within_s, record))

    def _submit(self, errand: _Errand) -> Accepted:
        if self._is_closed:
            raise bounds.shutting_down()
        for request in errand.requests:
            formats.check_request_id(request.request_id)
        bounds.check_that_it_may_fit(errand.requests, self._limits)
        return self._desk().submit(errand)

    def find(self, request_id: str) -> Found | None:
        if not formats.is_request_id(request_id):
            return None
        try:
            reply, _ = self._desk().sender.ask(script("find", request_id), SUBMIT_PATIENCE_S)
        except LineDown as error:
            raise NotReady(_why(error), 1.0) from error
        return Found(reply[0].decode(), tuple(_found_job(*job) for job in reply[1:])) if reply else None

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
            desk.post_cancel(ticket.request_id, desk.channel, why)

    def cancel(self, request_id: str) -> None:
        self._desk().post_cancel(request_id, "", Parting.LEFT)

    def status(self) -> MailboxStatus:
        try:
            reply, _ = self._desk().sender.ask(script("status", LEASE_S, READY_WITHIN_S), STATUS_PATIENCE_S)
        except LineDown:
            return MailboxStatus(redis_ok=False)
        return MailboxStatus(True, *reply[:4], float(reply[4]))

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


@dataclass(frozen=True, slots=True)
class _Errand:
    """What one call asks the queue to accept."""

    requests: tuple[CorrectionRequest, ...]
    within_s: float | None = None
    record: Record | None = None

    def under(self, request_id: str) -> _Errand:
        """The same work in the name of the request that was there before."""
        assert self.record is not None
        own = self.record.request_id
        requests = (replace(one, request_id=request_id + one.request_id.removeprefix(own)) for one in self.requests)
        return _Errand(tuple(requests), self.within_s, replace(self.record, request_id=request_id))


def _why(error: LineDown) -> str:
    is_refusal = isinstance(error.__cause__, ResponseError)
    return "Redis takes nothing new, it may be out of memory; try again shortly." if is_refusal else _UNREACHABLE


def _found_job(raw_id: bytes, state: bytes, payload: bytes) -> FoundJob:
    job_id = raw_id.decode()
    return FoundJob(job_id, _PHASES.get(state) or _outcome(job_id, state, payload) or bounds.removed())


def _outcome(job_id: str, state: bytes, payload: bytes) -> Completion | ServingError | None:
    """None where there is none yet, or none any more."""
    if state == b"done":
        try:
            return formats.decode_completion(payload)
        except WireError as error:
            return RequestFailed(f"the answer cannot be read: {error}")
    if state == b"expired":
        return bounds.expired()
    return Completion(job_id, FinishReason.CANCELLED) if state == b"canceled" else None


class _Desk:
    """What one process has: its reply channel, its waiters, its two threads."""

    def __init__(self, client: Redis, limits: MailboxLimits) -> None:
        self.channel = f"miniserve:reply:{os.getpid()}-{secrets.token_hex(6)}"
        self.waiters = Waiters()
        self.sender = Sender(Line(client))
        self._limits = limits
        self._listener = Listener(client, self.channel, self._hear, self._poll)

    def submit(self, errand: _Errand) -> Accepted:
        within_s, record = errand.within_s, errand.record
        patience_s = SUBMIT_PATIENCE_S if within_s is None else min(SUBMIT_PATIENCE_S, within_s)
        if not self._listener.wait_until_subscribed(patience_s):
            raise NotReady(_UNREACHABLE, 1.0)
        is_awaited = record is None or record.manner is not Manner.ASYNC
        tickets = tuple(Ticket(request, new_ticket_number()) for request in errand.requests if is_awaited)
        waiters = [self.waiters.add(ticket) for ticket in tickets]
        try:
            reply, run_id = self.sender.ask(self._enqueue(errand), patience_s)
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

    def post_cancel(self, request_id: str, channel: str, why: Parting) -> None:
        payload = formats.encode_completion(Completion(request_id, FinishReason.CANCELLED))
        self.sender.post(script("cancel", request_id, channel, payload, why.value), SUBMIT_PATIENCE_S)

    def close(self) -> None:
        self.waiters.resolve_all(bounds.shutting_down())
        self._listener.stop()
        self.sender.stop()

    def _enqueue(self, errand: _Errand) -> Command:
        limits, record, within_s = self._limits, errand.record, errand.within_s
        is_async = record is not None and record.manner is Manner.ASYNC
        ttl_s = limits.kept_ttl_s if is_async or record is not None and record.key else limits.result_ttl_s
        channel = NOBODY if is_async else self.channel
        about_all = [channel, ttl_s, FAILURE_TTL_S, limits.timeout_s, limits.max_requests, limits.max_tokens]
        about_all.append("" if within_s is None else within_s)
        about_record: list[Any] = ["", "", "", "", 0, ""]
        if record is not None:
            # Until its jobs' answers are forgotten: they may wait for all of their time, and run after that.
            record_ttl_s = ttl_s + math.ceil(limits.kept_ttl_s if within_s is None else within_s) + _LONGEST_RUN_S
            about_record = [record.request_id, record.document, record.digest, record.key, record_ttl_s]
            about_record.append("1" if record.manner is Manner.FOLLOW else "")
        about_each: list[Any] = []
        for request in errand.requests:
            encoded = formats.encode_request(request)
            about_each += [request.request_id, formats.body_hash(encoded, request.request_id)]
            about_each += [request.reserved_tokens, encoded, formats.describe(request)]
        return script("enqueue", *about_all, *about_record, *about_each)

    def _check_accepted(self, reply: list[Any], within_s: float | None) -> None:
        if reply[0] == b"conflict":
            raise bounds.conflict()
        if reply[0] == b"full":
            raise bounds.queue_full(reply[1], reply[2], float(reply[3]), self._limits)
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
        for waiter, (state, payload) in zip(asked, states, strict=True):
            request_id = waiter.ticket.request_id
            outcome = _outcome(request_id, state, payload)
            if outcome is not None:
                self.waiters.resolve(request_id, outcome)
            elif state == b"gone" and waiter.run_id == run_id:
                self.waiters.resolve(request_id, bounds.removed())
            elif state == b"gone":
                self._submit_again(waiter)

    def _submit_again(self, waiter: Waiter) -> None:
        """Redis was restarted and has lost its last moments, and the request with them."""

        def on_reply(reply: list[Any], run_id: str) -> None:
            if reply[0] != b"full":  # else: the next poll tries again, until the deadline
                waiter.run_id = run_id

        self.sender.post(self._enqueue(_Errand((waiter.ticket.request,))), SUBMIT_PATIENCE_S, on_reply)
