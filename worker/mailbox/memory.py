"""The mailbox inside one process: for the modes without a queue and for tests.

Same promises as over Redis (bounds, order, shares, first answer wins, cancel, dead letters, requests that are found
again, progress, counts) under one lock. No worker has a lease here: a test in which one dies calls
`give_up`.
"""

from __future__ import annotations

import heapq
import itertools
import sys
import time
from collections.abc import Sequence
from math import ceil, inf

from scheduler.capacity.observed import Observed, WorkerFacts
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from scheduler.phases import Phase
from worker.mailbox import admission
from worker.mailbox.memory_queue import InMemoryWorkerMailbox, Job, MemoryQueue, StoredRequest
from worker.mailbox.observing import Found, FoundJob
from worker.mailbox.protocol import (
    CancelResult,
    MailboxLimits,
    MailboxStatus,
    ReplyMode,
    Submission,
    WorkerReport,
)
from worker.mailbox.waiters import WaitingMailbox

_ASYNC_SHARE = 0.875  # of the queue, for what nobody waits for
_KEPT_SHARE = 0.75  # of the memory, for what is kept for ten minutes
_JOB_BYTES = 3600  # as in lua/common.lua; measured here: some 3 kB
_OTHERS_S = 10.0  # a client that asked so lately counts as one that waits
_RUN_ID = "this process"  # in the place of the Redis process that accepted a request


class InMemoryMailbox(WaitingMailbox):
    """Keeps the protocols of ApiMailbox and Observer; `worker_end()` gives the other end, one for each worker."""

    def __init__(self, limits: MailboxLimits | None = None) -> None:
        self._queue = MemoryQueue()
        super().__init__(limits, self._queue.waiters)
        self._worker_numbers = itertools.count(1)
        self._used: dict[str, list[float]] = {}  # by client: until when what it has used of each limit lasts
        self._kept: list[tuple[float, int]] = []  # a heap: until when so many bytes are kept
        self._kept_bytes = 0
        self._last_client, self._client_changed_s = "", -inf  # whose request was the last, and when it was another's

    def worker_end(self) -> InMemoryWorkerMailbox:
        return InMemoryWorkerMailbox(f"worker-{next(self._worker_numbers)}", self._queue)

    def _accept(self, wanted: Submission) -> None:
        with self._queue.arrived:
            self._join_by_key(wanted)
            jobs = self._open(wanted)
            self._waiters.add(wanted, _RUN_ID)
            for job in jobs:
                if job.completion is not None:
                    self._waiters.resolve(job.request_id, job.completion)
        wanted.accepted_s = time.perf_counter()

    def _join_by_key(self, wanted: Submission) -> None:
        """Join the request that the key stands for, if there is one. Raises IdempotencyConflict."""
        request_id = self._queue.keys.get(wanted.key, "") if wanted.key else ""
        known = self._queue.requests.get(request_id)
        if known is None:
            return
        if known.digest != wanted.digest:
            raise admission.conflict()
        if known.tokenizer_fingerprint == wanted.tokenizer_fingerprint:
            wanted.join(request_id)

    def _open(self, wanted: Submission) -> list[Job]:
        """All or none."""
        queue, now, client = self._queue, time.monotonic(), wanted.client
        queue.forget_old(now)
        deadline_s = inf if wanted.within_s is None else now + wanted.within_s
        ttl_s, streams = wanted.ttl_s(self._limits), wanted.manner is ReplyMode.FOLLOW
        fresh: list[Job] = []
        for one in wanted.requests:
            known = queue.jobs.get(one.request_id)
            if known is None or known.is_cancelled:
                fresh.append(Job(one, now, deadline_s, ttl_s, streams, client))
            else:
                known.deadline_s = max(known.deadline_s, deadline_s)
                known.cancel_reason = None
        if fresh:
            if client:
                self._check_share(client, [job.request for job in fresh])
            self._check_room([job.request for job in fresh], wanted)
            self._check_memory(len(fresh), wanted, now)
            if wanted.limits:
                self._check_limits(wanted, [job.request for job in fresh])
        for job in fresh:
            queue.open(job)
        if fresh:
            self._keep(len(fresh), wanted, now)
        job_ids = tuple(one.request_id for one in wanted.requests)
        stored = StoredRequest(wanted.document, wanted.tokenizer_fingerprint, wanted.digest, job_ids)
        queue.requests.setdefault(wanted.request_id, stored)
        if wanted.key:
            queue.keys[wanted.key] = wanted.request_id
        queue.arrived.notify(len(fresh))
        return [queue.jobs[one.request_id] for one in wanted.requests]

    def _check_share(self, client: str, fresh: Sequence[CorrectionRequest]) -> None:
        """Refuse as ENQUEUE does: while others wait one client holds at most half, of requests and of tokens."""
        queue, limits, now = self._queue, self._limits, time.monotonic()
        if client != self._last_client:
            self._client_changed_s = now if self._last_client else -inf
            self._last_client = client
        is_alone = all(job.client == client for job in queue.open_jobs.values())
        has_others = now - self._client_changed_s < _OTHERS_S or not is_alone
        least, most = ceil(limits.max_tokens / limits.max_requests), limits.max_tokens // 2
        held = [job.request for job in queue.open_jobs.values() if job.client == client]
        own, new = (sum(max(least, request.reserved_tokens) for request in some) for some in (held, fresh))
        if held and has_others and own + new > most:
            queue.ledger.refuse("refused_share", len(fresh))
            raise admission.rate_limited(own, most, queue.service_rate())

    def _check_limits(self, wanted: Submission, fresh: Sequence[CorrectionRequest]) -> None:
        """Refuse as ENQUEUE does (over_limit): a second's worth may come at once, or one request."""
        now, untils = time.monotonic(), []
        costs = {"requests": 1, "tokens": sum(request.reserved_tokens for request in fresh)}
        used = self._used.get(wanted.client, [0.0, 0.0])
        for (what, cost), per_s, until in zip(costs.items(), map(float, wanted.limits.split()), used, strict=True):
            slack_s = max(0.0, 1 - 1 / per_s) if what == "requests" and per_s else 1.0
            wait_s = max(now, until) - now - slack_s
            if per_s and wait_s > 1e-5:
                self._queue.ledger.refuse("refused_share", len(fresh))
                raise admission.over_limit(what, per_s, wait_s)
            untils.append(max(now, until) + cost / per_s if per_s else 0.0)
        self._used[wanted.client] = untils

    def _check_room(self, fresh: Sequence[CorrectionRequest], wanted: Submission) -> None:
        queue, limits, rate = self._queue, self._limits, self._queue.service_rate()
        within_s, part = wanted.within_s, _ASYNC_SHARE if wanted.manner is ReplyMode.ASYNC else 1
        num_open, pending_tokens = len(queue.open_jobs), queue.reserved_tokens
        tokens = pending_tokens + sum(request.reserved_tokens for request in fresh)
        if num_open + len(fresh) > limits.max_requests * part or tokens > limits.max_tokens * part:
            queue.ledger.refuse("refused_full", len(fresh))
            raise admission.queue_full(num_open, pending_tokens, rate, limits)
        # As ENQUEUE does it. An empty queue accepts, or a rate that was measured wrong once would stand for ever.
        if within_s is not None and pending_tokens and tokens > rate * within_s and rate > 0:
            queue.ledger.refuse("refused_late", len(fresh))
            raise admission.too_late(tokens, rate, within_s)

    def _check_memory(self, num_fresh: int, wanted: Submission, now: float) -> None:
        """Refuse as ENQUEUE does what would take more than half of the memory."""
        while self._kept and self._kept[0][0] <= now:
            self._kept_bytes -= heapq.heappop(self._kept)[1]
        most = self._limits.max_memory_bytes // 2
        most = int(most * _KEPT_SHARE) if wanted.is_kept else most
        if self._kept_bytes + _bytes_of(num_fresh, wanted) > most:
            self._queue.ledger.refuse("refused_full", num_fresh)
            seconds = ceil(self._kept[0][0] - now) if self._kept else 1
            raise admission.memory_full(self._kept_bytes, most, seconds)

    def _keep(self, num_fresh: int, wanted: Submission, now: float) -> None:
        size = _bytes_of(num_fresh, wanted)
        heapq.heappush(self._kept, (now + wanted.ttl_s(self._limits), size))
        self._kept_bytes += size

    def find(self, request_id: str) -> Found | None:
        with self._queue.arrived:
            stored = self._queue.stored(request_id)
            if stored is None:
                return None
            jobs = tuple(FoundJob(job_id, self._state_of(job_id)) for job_id in stored.job_ids)
            return Found(stored.document, stored.tokenizer_fingerprint, jobs)

    def _state_of(self, job_id: str) -> Phase | Completion:
        return self._queue.jobs[job_id].completion or self._phase_of(job_id)

    def _phase_of(self, job_id: str) -> Phase:
        return Phase.QUEUED if self._queue.jobs[job_id].owner is None else Phase.RUNNING

    def abandon(
        self, wanted: Submission, why: FinishReason = FinishReason.CANCELLED, job_ids: Sequence[str] | None = None
    ) -> None:
        with self._queue.arrived:
            for job_id in self._waiters.remove(wanted, job_ids):
                self._cancel(job_id, why)

    def cancel_all(self, request_ids: Sequence[str]) -> list[CancelResult]:
        with self._queue.arrived:
            return [self._cancel(request_id, FinishReason.CANCELLED) for request_id in request_ids]

    def _cancel(self, request_id: str, reason: FinishReason) -> CancelResult:
        job = self._queue.open_jobs.get(request_id)
        if job is None:
            return CancelResult.DONE
        job.cancel_reason = reason  # a running one: its worker gets the id in its next exchange
        if job.owner is not None:
            return CancelResult.CANCELLING
        self._queue.queued_ids.remove(request_id)
        self._queue.end(job, Completion(request_id, reason))
        return CancelResult.CANCELLED

    def status(self) -> MailboxStatus:
        with self._queue.arrived:
            return MailboxStatus(
                redis_ok=True,
                live_workers=len(self._queue.reports),
                queue_depth=len(self._queue.queued_ids),
                reserved_tokens=self._queue.reserved_tokens,
                reserved_requests=len(self._queue.open_jobs),
                num_done=self._queue.ledger.counts["done"],
                service_rate_tokens_per_s=self._queue.service_rate(),
            )

    def observe(self) -> Observed:
        queue = self._queue
        with queue.arrived:
            reports, totals, now, history = queue.look()
            workers = tuple(_facts(name, report) for name, report in reports.items())
            num_running = sum(worker.num_running for worker in workers)
            return Observed(
                now=now,
                history=history,
                workers=workers,
                num_api_replicas=1,
                counts=dict(queue.ledger.counts),
                totals=totals,
                queue_depth=len(queue.queued_ids),
                num_waiting=max(0, len(queue.open_jobs) - num_running),
                num_running=num_running,
                reserved_tokens=queue.reserved_tokens,
            )

    def close(self) -> None:
        self._is_closed = True
        self._waiters.shut_down()


def _facts(name: str, report: WorkerReport) -> WorkerFacts:
    gauges = dict(report.gauges)
    tokens_per_s = gauges.pop("computed_tokens_per_s", 0.0)
    numbers = {key.replace("kv_reserved", "reserved"): int(value) for key, value in gauges.items()}
    return WorkerFacts(name, **numbers, tokens_per_s=tokens_per_s)


def _bytes_of(num_jobs: int, wanted: Submission) -> int:
    return sys.getsizeof(wanted.document) + num_jobs * _JOB_BYTES
