"""The API's end of the Redis mailbox: one subscription and one coalescing sender per process.

Both are made when the first request comes, separately in every process: a server that forks after loading us gets
working threads (or greenlets) in each child.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

from redis import Redis, ResponseError

from scheduler.errors import IdempotencyConflict, NotReady, RemovedByOperator, RequestFailed
from scheduler.messages import Completion, CorrectionRequest, FinishReason, WireError
from worker.mailbox import formats
from worker.mailbox.bounds import check_that_it_may_fit, expired, queue_full, shutting_down, too_late
from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.listener import Listener
from worker.mailbox.protocol import (
    FAILURE_TTL_S,
    ApiMailbox,
    MailboxLimits,
    MailboxStatus,
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

    def __init__(self, client: Redis, limits: MailboxLimits | None = None) -> None:
        self._client = client
        self._limits = limits or MailboxLimits()
        self._desks: dict[int, _Desk] = {}  # by process id: a child never uses its parent's threads
        self._making = threading.Lock()
        self._is_closed = False

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        if self._is_closed:
            raise shutting_down()
        for request in requests:
            formats.check_request_id(request.request_id)
        check_that_it_may_fit(requests, self._limits)
        return self._desk().submit(requests, within_s)

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        return self._desk().waiters.wait_all(tickets, timeout_s, has_left, self.abandon)

    def abandon(self, ticket: Ticket) -> None:
        desk = self._desk()
        if desk.waiters.remove(ticket):
            desk.post_cancel(ticket.request_id, desk.channel)

    def cancel(self, request_id: str) -> None:
        self._desk().post_cancel(request_id, channel="")

    def status(self) -> MailboxStatus:
        try:
            reply, _ = self._desk().sender.ask(status_command(), STATUS_PATIENCE_S)
        except LineDown:
            return MailboxStatus(redis_ok=False)
        return status_of(reply)

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
        self._limits = limits
        self._listener = Listener(client, self.channel, self._hear, self._poll)

    def submit(self, requests: Sequence[CorrectionRequest], within_s: float | None) -> tuple[Ticket, ...]:
        patience_s = SUBMIT_PATIENCE_S if within_s is None else min(SUBMIT_PATIENCE_S, within_s)
        if not self._listener.wait_until_subscribed(patience_s):
            raise NotReady(_UNREACHABLE, 1.0)
        tickets = tuple(Ticket(request, new_ticket_number()) for request in requests)
        waiters = [self.waiters.add(ticket) for ticket in tickets]
        try:
            reply, run_id = self.sender.ask(self._enqueue(requests, within_s), patience_s)
            self._check_accepted(reply, within_s)
        except BaseException as error:
            for ticket in tickets:
                self.waiters.remove(ticket)
            if isinstance(error, LineDown):
                raise NotReady(_why(error), 1.0) from error
            raise
        for waiter in waiters:
            waiter.run_id = run_id
        if reply[0] == b"attached":
            self._look_up(waiters)  # the answer may be older than the subscription
        return tickets

    def post_cancel(self, request_id: str, channel: str) -> None:
        payload = formats.encode_completion(Completion(request_id, FinishReason.CANCELLED))
        self.sender.post(script("cancel", request_id, channel, payload), SUBMIT_PATIENCE_S)

    def close(self) -> None:
        self.waiters.resolve_all(shutting_down())
        self._listener.stop()
        self.sender.stop()

    def _enqueue(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> Command:
        limits = self._limits
        about_all: tuple[Any, ...] = (limits.result_ttl_s, FAILURE_TTL_S, limits.timeout_s)
        about_all += (limits.max_requests, limits.max_tokens, "" if within_s is None else within_s)
        about_each: list[Any] = []
        for request in requests:
            encoded = formats.encode_request(request)
            about_each += [request.request_id, formats.body_hash(encoded, request.request_id)]
            about_each += [request.reserved_tokens, encoded, formats.describe(request)]
        return script("enqueue", self.channel, *about_all, *about_each)

    def _check_accepted(self, reply: list[Any], within_s: float | None) -> None:
        if reply[0] == b"conflict":
            raise IdempotencyConflict("A request with this id and another body was sent before.")
        if reply[0] == b"full":
            raise queue_full(reply[1], reply[2], float(reply[3]), self._limits)
        if reply[0] == b"late" and within_s is not None:
            raise too_late(reply[1], float(reply[2]), within_s)

    def _hear(self, message: bytes) -> None:
        for payload in message.split(b"\n"):
            self._resolve(payload)

    def _resolve(self, payload: bytes, request_id: str | None = None) -> None:
        try:
            completion = formats.decode_completion(payload)
        except WireError as error:
            if request_id is not None:
                self.waiters.resolve(request_id, RequestFailed(f"the answer cannot be read: {error}"))
            logger.error("an answer cannot be read: %s", error, extra={"request_id": request_id})
            return
        self.waiters.resolve(completion.request_id, completion)

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
            if state == b"done":
                self._resolve(payload, request_id)
            elif state == b"expired":
                self.waiters.resolve(request_id, expired())
            elif state == b"canceled":
                self.waiters.resolve(request_id, Completion(request_id, FinishReason.CANCELLED))
            elif state == b"gone" and waiter.run_id == run_id:
                self.waiters.resolve(request_id, RemovedByOperator("The request was deleted from the queue by hand."))
            elif state == b"gone":
                self._submit_again(waiter)

    def _submit_again(self, waiter: Waiter) -> None:
        """Redis was restarted and has lost its last moments, and the request with them."""

        def on_reply(reply: list[Any], run_id: str) -> None:
            if reply[0] != b"full":  # else: the next poll tries again, until the deadline
                waiter.run_id = run_id

        self.sender.post(self._enqueue([waiter.ticket.request]), SUBMIT_PATIENCE_S, on_reply)
