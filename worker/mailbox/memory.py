"""The mailbox inside one process: for `miniserve correct`, for tests, for a first look at how the real one behaves.

Same promises as over Redis (bounds, order, shares, first answer wins, cancel, dead letters) under one lock.
Nobody watches the workers here: whoever sees one die says so with `give_up`. No request is kept to be found later, and
nobody can follow the decoding.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason, Inbox, Progress, Room
from worker.mailbox import formats
from worker.mailbox.bounds import check_in_time, check_that_it_may_fit, conflict, expired, queue_full, shutting_down
from worker.mailbox.protocol import (
    MAX_ATTEMPTS,
    MAX_BLOCK_S,
    ApiMailbox,
    CallOff,
    MailboxLimits,
    MailboxStatus,
    Parting,
    Ticket,
    WorkerReport,
)
from worker.mailbox.rates import ServiceRate
from worker.mailbox.waiters import Waiters, new_ticket_number


@dataclass(slots=True)
class _Job:
    """One request from acceptance to its answer, and for `result_ttl_s` after it."""

    request: CorrectionRequest
    body_hash: str
    accepted_s: float
    deadline_s: float
    attempts: int = 0
    owner: str | None = None  # None: queued
    is_cancelled: bool = False
    completion: Completion | None = None
    forgotten_s: float = 0.0


@dataclass(slots=True)
class _State:
    """All of it, under one lock; `arrived` wakes blocked workers."""

    limits: MailboxLimits
    jobs: dict[str, _Job] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    rate: ServiceRate = field(default_factory=ServiceRate)
    num_duplicates: int = 0

    def unfinished(self) -> list[_Job]:
        return [job for job in self.jobs.values() if job.completion is None]

    def forget_old(self, now: float) -> None:
        for request_id in [i for i, job in self.jobs.items() if job.completion and job.forgotten_s <= now]:
            del self.jobs[request_id]


class InMemoryMailbox(ApiMailbox):
    """Keeps the ApiMailbox protocol; `worker_end()` gives the other end, one for each worker."""

    def __init__(self, limits: MailboxLimits | None = None) -> None:
        self._state = _State(limits or MailboxLimits())
        self._waiters = Waiters()
        self._worker_numbers = itertools.count(1)
        self._is_closed = False

    def worker_end(self) -> InMemoryWorkerMailbox:
        return InMemoryWorkerMailbox(f"worker-{next(self._worker_numbers)}", self._state, self._waiters)

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        if self._is_closed:
            raise shutting_down()
        for request in requests:
            formats.check_request_id(request.request_id)
        check_that_it_may_fit(requests, self._state.limits)
        tickets = tuple(Ticket(request, new_ticket_number()) for request in requests)
        with self._state.arrived:
            jobs = self._accept(requests, within_s)
            for ticket, job in zip(tickets, jobs, strict=True):
                self._waiters.add(ticket)
                if job.completion is not None:
                    self._waiters.resolve(ticket.request_id, job.completion)
        return tickets

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        return self._waiters.wait_all(tickets, timeout_s, has_left, self.abandon)

    def abandon(self, ticket: Ticket, why: Parting = Parting.LEFT) -> None:
        if self._waiters.remove(ticket):
            self.cancel(ticket.request_id)

    def cancel(self, request_id: str) -> CallOff:
        with self._state.arrived:
            job = self._state.jobs.get(request_id)
            if job is None or job.completion is not None:
                return CallOff.DONE
            job.is_cancelled = True  # a running one: its worker is told in its next exchange
            if job.owner is not None:
                return CallOff.CANCELLING
            self._state.queue.remove(request_id)
            job.completion = Completion(request_id, FinishReason.CANCELLED)
            self._waiters.resolve(request_id, job.completion)
            return CallOff.CANCELLED

    def status(self) -> MailboxStatus:
        with self._state.arrived:
            unfinished = self._state.unfinished()
            return MailboxStatus(
                redis_ok=True,
                live_workers=len(self._state.workers),
                queue_depth=len(self._state.queue),
                reserved_tokens=sum(job.request.reserved_tokens for job in unfinished),
                reserved_requests=len(unfinished),
                service_rate_tokens_per_s=self._state.rate.tokens_per_s,
            )

    def close(self) -> None:
        self._is_closed = True
        self._waiters.resolve_all(shutting_down())

    def _accept(self, requests: Sequence[CorrectionRequest], within_s: float | None) -> list[_Job]:
        """All or none."""
        state, now = self._state, time.monotonic()
        deadline_s = inf if within_s is None else now + within_s
        state.forget_old(now)
        hashes = [formats.body_hash(formats.encode_request(one), one.request_id) for one in requests]
        fresh = {
            one.request_id: _Job(one, body_hash, now, deadline_s)
            for one, body_hash in zip(requests, hashes, strict=True)
        }
        for request_id in fresh.keys() & state.jobs.keys():
            if state.jobs[request_id].body_hash != fresh.pop(request_id).body_hash:
                raise conflict()
        unfinished, limits = state.unfinished(), state.limits
        tokens = sum(job.request.reserved_tokens for job in unfinished)
        new_tokens = sum(job.request.reserved_tokens for job in fresh.values())
        is_full = len(unfinished) + len(fresh) > limits.max_requests or tokens + new_tokens > limits.max_tokens
        if fresh and is_full:
            raise queue_full(len(unfinished), tokens, state.rate.tokens_per_s, limits)
        if fresh:
            check_in_time(tokens, new_tokens, state.rate.tokens_per_s, within_s)
        for known in state.jobs.keys() & {one.request_id for one in requests}:
            state.jobs[known].deadline_s = max(state.jobs[known].deadline_s, deadline_s)
        state.jobs |= fresh
        state.queue += fresh
        state.arrived.notify(len(fresh))
        return [state.jobs[one.request_id] for one in requests]


class InMemoryWorkerMailbox:
    """Keeps the WorkerMailbox protocol."""

    def __init__(self, name: str, state: _State, waiters: Waiters) -> None:
        self.name = name
        self._state = state
        self._waiters = waiters
        self._cancelled: set[str] = set()  # ids this worker was told to drop; its late answers do not count

    @property
    def num_duplicates(self) -> int:
        return self._state.num_duplicates

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        with self._state.arrived:
            self._state.workers.append(self.name)

    def exchange(
        self,
        completions: Sequence[Completion],
        room: Room,
        num_held: int,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        with self._state.arrived:
            self._finish(completions)
            inbox = self._drain(room)
            if wait_s > 0 and not inbox.deliveries and not inbox.cancelled_ids:
                self._state.arrived.wait(min(wait_s, MAX_BLOCK_S))
                inbox = self._drain(room)
            return inbox

    def close(self) -> None:
        with self._state.arrived:
            held = self._held_ids()
            for request_id in held:  # an orderly leave: these attempts do not count
                self._state.jobs[request_id].attempts -= 1
            self._requeue(held)
            self._leave()

    def give_back(self, completions: Sequence[Completion]) -> None:
        with self._state.arrived:
            self._finish(completions)
            self._newly_cancelled()
            self._requeue(self._held_ids())

    def give_up(self) -> None:
        """The worker died: what it held goes back, and those attempts count."""
        with self._state.arrived:
            self._requeue(self._held_ids())
            self._leave()

    def _held_ids(self) -> list[str]:
        return [job.request.request_id for job in self._state.unfinished() if job.owner == self.name]

    def _requeue(self, request_ids: list[str]) -> None:
        jobs = self._state.jobs
        for request_id in request_ids:
            jobs[request_id].owner = None
        self._state.queue[:0] = sorted(request_ids, key=lambda request_id: jobs[request_id].accepted_s)
        self._state.arrived.notify_all()

    def _leave(self) -> None:
        if self.name in self._state.workers:
            self._state.workers.remove(self.name)

    def _finish(self, completions: Sequence[Completion]) -> None:
        now, released = time.monotonic(), 0
        for completion in completions:
            job = self._state.jobs.get(completion.request_id)
            if job is None or job.owner != self.name or job.completion is not None:
                self._state.num_duplicates += completion.request_id not in self._cancelled
                continue
            released += job.request.reserved_tokens
            job.completion, job.forgotten_s = completion, now + self._state.limits.result_ttl_s
            self._waiters.resolve(completion.request_id, completion)
        self._state.rate.add(released, now)
        if not self._state.unfinished():
            self._state.rate.pause()

    def _drain(self, room: Room) -> Inbox:
        deliveries, free_tokens = [], room.tokens
        queue, held = self._state.queue, self._held_ids()
        if any(self._state.jobs[request_id].attempts > 1 for request_id in held):
            return Inbox((), self._newly_cancelled())
        share = min(room.requests, -(-len(queue) // max(1, len(self._state.workers))))
        while queue and share > 0 and free_tokens > 0:
            job = self._state.jobs[queue[0]]
            if job.deadline_s < time.monotonic():
                self._expire(queue.pop(0))
                continue
            is_suspect = job.attempts > 0
            if is_suspect and (held or deliveries):
                break
            free_tokens -= job.request.reserved_tokens
            if free_tokens < 0 and not room.may_look_ahead:
                break
            share -= 1
            queue.pop(0)
            deliveries += self._start(job)
            if is_suspect and deliveries:
                break
        return Inbox(tuple(deliveries), self._newly_cancelled())

    def _start(self, job: _Job) -> list[Delivery]:
        job.owner = self.name
        job.attempts += 1
        self._cancelled.discard(job.request.request_id)
        if job.attempts > MAX_ATTEMPTS:
            text = f"gave up after {MAX_ATTEMPTS} attempts; the workers that ran it died or failed"
            self._finish([Completion(job.request.request_id, FinishReason.ERROR, error=text)])
            return []
        now = time.monotonic()
        self._state.rate.begin(now)
        return [Delivery(job.request, job.attempts, now - job.accepted_s, job.deadline_s - now)]

    def _expire(self, request_id: str) -> None:
        self._state.jobs[request_id].completion = Completion(request_id, FinishReason.CANCELLED)
        self._waiters.resolve(request_id, expired())

    def _newly_cancelled(self) -> tuple[str, ...]:
        own = [job for job in self._state.unfinished() if job.is_cancelled and job.owner == self.name]
        request_ids = tuple(job.request.request_id for job in own)
        self._finish([Completion(request_id, FinishReason.CANCELLED) for request_id in request_ids])
        self._cancelled.update(request_ids)
        return request_ids
