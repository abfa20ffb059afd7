"""The mailbox inside one process: for the modes without a queue and for tests.

Same promises as over Redis (bounds, order, shares, first answer wins, cancel, dead letters, requests that are found
again, progress, counts) under one lock. Nobody watches the workers here: a test in which one dies says so with
`give_up`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf

from scheduler.capacity.observed import Observed, WorkerFacts
from scheduler.errors import DeadlineExceeded, ServingError
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from scheduler.traces import FoundTrace, RequestPart, SequencePart, TracedJob
from worker.mailbox import admission, formats
from worker.mailbox.memory_state import Job, MemoryState, StoredRequest
from worker.mailbox.memory_worker import InMemoryWorkerMailbox
from worker.mailbox.protocol import (
    AbandonReason,
    Accepted,
    ApiMailbox,
    CancelResult,
    Found,
    FoundJob,
    MailboxLimits,
    MailboxStatus,
    Phase,
    Record,
    ReplyMode,
    Ticket,
    WorkerReport,
)
from worker.mailbox.waiters import Waiters, new_ticket_number

_REASONS = {AbandonReason.LEFT: FinishReason.CANCELLED, AbandonReason.TOO_LATE: FinishReason.EXPIRED}
_ENDED_EARLY = frozenset(_REASONS.values())


class InMemoryMailbox(ApiMailbox):
    """Keeps the ApiMailbox protocol; `worker_end()` gives the other end, one for each worker."""

    def __init__(self, limits: MailboxLimits | None = None) -> None:
        self._state = MemoryState(limits or MailboxLimits(), Waiters())
        self._worker_numbers = itertools.count(1)
        self._is_closed = False

    def worker_end(self) -> InMemoryWorkerMailbox:
        return InMemoryWorkerMailbox(f"worker-{next(self._worker_numbers)}", self._state)

    def submit_all(self, requests: Sequence[CorrectionRequest], within_s: float | None = None) -> tuple[Ticket, ...]:
        return self._submit(requests, within_s, None).tickets

    def submit_recorded(
        self, record: Record, requests: Sequence[CorrectionRequest], within_s: float | None = None
    ) -> Accepted:
        return self._submit(requests, within_s, record)

    def _submit(self, requests: Sequence[CorrectionRequest], within_s: float | None, record: Record | None) -> Accepted:
        if self._is_closed:
            raise admission.shutting_down()
        for request in requests:
            formats.check_request_id(request.request_id)
        admission.check_that_it_may_fit(requests, self._state.limits)
        with self._state.arrived:
            if record is not None:
                record, requests = self._under_its_key(record, requests)
            jobs = self._accept(requests, within_s, record)
            is_awaited = record is None or record.manner is not ReplyMode.ASYNC
            tickets = tuple(Ticket(request, new_ticket_number()) for request in requests if is_awaited)
            for ticket, job in zip(tickets, jobs, strict=False):
                self._state.waiters.add(ticket)
                if job.completion is not None:
                    self._state.waiters.resolve(ticket.request_id, job.completion)
        return Accepted("" if record is None else record.request_id, tickets, time.perf_counter())

    def _under_its_key(
        self, record: Record, requests: Sequence[CorrectionRequest]
    ) -> tuple[Record, Sequence[CorrectionRequest]]:
        """In the name of the request that its key stands for, if there is one. Raises IdempotencyConflict."""
        known = self._state.requests.get(self._state.keys.get(record.key, "")) if record.key else None
        if known is None:
            return record, requests
        if known.record.digest != record.digest:
            raise admission.conflict()
        if known.record.tokenizer_fingerprint != record.tokenizer_fingerprint:
            return record, requests
        own, first = record.request_id, known.record.request_id
        renamed = [replace(one, request_id=first + one.request_id.removeprefix(own)) for one in requests]
        return replace(record, request_id=first), renamed

    def find(self, request_id: str) -> Found | None:
        with self._state.arrived:
            stored = self._state.stored(request_id)
            if stored is None:
                return None
            jobs = tuple(FoundJob(job_id, self._state_of(job_id)) for job_id in stored.job_ids)
            return Found(stored.record.document, stored.record.tokenizer_fingerprint, jobs)

    def _state_of(self, job_id: str) -> Phase | Completion | ServingError:
        job = self._state.jobs[job_id]
        if job.completion is None:
            return Phase.QUEUED if job.owner is None else Phase.RUNNING
        return admission.expired() if job.completion.finish_reason is FinishReason.EXPIRED else job.completion

    def keep_trace(self, request_id: str, text: str, is_kept_longer: bool = False) -> None:
        with self._state.arrived:
            stored = self._state.stored(request_id)
            if stored is not None:
                stored.trace = text

    def trace(self, request_id: str) -> FoundTrace | None:
        with self._state.arrived:
            stored = self._state.stored(request_id)
            if stored is None:
                return None
            part = RequestPart.from_text(request_id, stored.trace) if stored.trace else None
            return FoundTrace(part, tuple(map(self._traced, stored.job_ids)))

    def _traced(self, job_id: str) -> TracedJob:
        completion = self._state.jobs[job_id].completion
        if completion is None:
            return TracedJob(job_id, None, self._state_of(job_id))
        part = SequencePart.from_text(completion.trace) if completion.trace else None
        return TracedJob(job_id, part, completion.finish_reason if completion.finish_reason in _ENDED_EARLY else None)

    def wait_all(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> list[Completion]:
        return self._state.waiters.wait_all(tickets, timeout_s, has_left, self.abandon)

    def follow(
        self, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
    ) -> Iterator[Sequence[Completion | tuple[int, ...]]]:
        return self._state.waiters.follow(tickets, timeout_s, has_left, self.abandon)

    def abandon(self, ticket: Ticket, why: AbandonReason = AbandonReason.LEFT) -> None:
        with self._state.arrived:
            if self._state.waiters.remove(ticket):
                self._cancel(ticket.request_id, _REASONS[why])

    def cancel_all(self, request_ids: Sequence[str]) -> list[CancelResult]:
        with self._state.arrived:
            return [self._cancel(request_id, FinishReason.CANCELLED) for request_id in request_ids]

    def _cancel(self, request_id: str, reason: FinishReason) -> CancelResult:
        job = self._state.open_jobs.get(request_id)
        if job is None:
            return CancelResult.DONE
        job.cancel_reason = reason  # a running one: its worker is told in its next exchange
        if job.owner is not None:
            return CancelResult.CANCELLING
        self._state.queue.remove(request_id)
        self._state.end(job, Completion(request_id, reason))
        return CancelResult.CANCELLED

    def status(self) -> MailboxStatus:
        with self._state.arrived:
            return MailboxStatus(
                redis_ok=True,
                live_workers=len(self._state.reports),
                queue_depth=len(self._state.queue),
                reserved_tokens=self._state.reserved_tokens,
                reserved_requests=len(self._state.open_jobs),
                service_rate_tokens_per_s=self._state.service_rate(),
            )

    def observe(self) -> Observed:
        with self._state.arrived:
            state = self._state
            reports, totals, now, history = state.look()
            workers = tuple(_facts(name, report) for name, report in reports.items())
            num_running = sum(worker.num_running for worker in workers)
            return Observed(
                now=now,
                history=history,
                workers=workers,
                num_api_replicas=1,
                counts=dict(state.ledger.counts),
                totals=totals,
                queue_depth=len(state.queue),
                num_waiting=max(0, len(state.open_jobs) - num_running),
                num_running=num_running,
                reserved_tokens=state.reserved_tokens,
            )

    def close(self) -> None:
        self._is_closed = True
        self._state.waiters.resolve_all(admission.shutting_down())

    def _accept(
        self, requests: Sequence[CorrectionRequest], within_s: float | None, record: Record | None
    ) -> list[Job]:
        """All or none."""
        state, now = self._state, time.monotonic()
        state.forget_old(now)
        deadline_s = inf if within_s is None else now + within_s
        streams = record is not None and record.manner is ReplyMode.FOLLOW
        fresh: dict[str, Job] = {}
        for one in requests:
            body_hash = formats.body_hash(formats.encode_request(one), one.request_id)
            known = state.jobs.get(one.request_id)
            if known is None or known.is_cancelled:
                fresh[one.request_id] = Job(one, body_hash, now, deadline_s, state.answer_ttl_s(record), streams)
            elif known.body_hash != body_hash:
                raise admission.conflict()
            else:
                known.deadline_s = max(known.deadline_s, deadline_s)
                known.cancel_reason = None
        self._check_room([job.request for job in fresh.values()], within_s)
        for job in fresh.values():
            state.open(job, now)
        if record is not None:
            job_ids = tuple(one.request_id for one in requests)
            state.requests.setdefault(record.request_id, StoredRequest(record, job_ids))
            if record.key:
                state.keys[record.key] = record.request_id
        state.arrived.notify(len(fresh))
        return [state.jobs[one.request_id] for one in requests]

    def _check_room(self, fresh: Sequence[CorrectionRequest], within_s: float | None) -> None:
        state, tokens = self._state, sum(request.reserved_tokens for request in fresh)
        num_open, limits = len(state.open_jobs), state.limits
        if not fresh:
            return
        if num_open + len(fresh) > limits.max_requests or state.reserved_tokens + tokens > limits.max_tokens:
            state.ledger.refuse("refused_full", len(fresh))
            raise admission.queue_full(num_open, state.reserved_tokens, state.service_rate(), limits)
        try:
            admission.check_in_time(state.reserved_tokens, tokens, state.service_rate(), within_s)
        except DeadlineExceeded:
            state.ledger.refuse("refused_late", len(fresh))
            raise


def _facts(name: str, report: WorkerReport) -> WorkerFacts:
    gauges = {key: int(value) for key, value in report.gauges.items() if key != "computed_tokens_per_s"}
    gauges["reserved_tokens"] = gauges.pop("kv_reserved_tokens", 0)
    return WorkerFacts(name, **gauges, tokens_per_s=report.gauges.get("computed_tokens_per_s", 0.0))
