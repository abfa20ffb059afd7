"""What the mailbox inside one process keeps: jobs, requests, and counts as Redis keeps them for the whole system."""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scheduler.capacity.observed import Moment
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from scheduler.observations import ITERATIONS, sum_totals
from worker.mailbox import admission
from worker.mailbox.protocol import MailboxLimits, Record, ReplyMode, WorkerReport
from worker.mailbox.waiters import Waiters

_ROWS, _STEP_S = 120, 1.0
_OUTCOMES = {
    FinishReason.ERROR: "failed", FinishReason.CANCELLED: "cancelled", FinishReason.EXPIRED: "expired",
}  # fmt: skip


class Ledger:
    """Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.num_open = 0
        self._stay_s = 0.0
        self._area_s = 0.0
        self._since_s: float | None = None
        self._history: deque[Moment] = deque(maxlen=_ROWS)

    def accept(self, now: float) -> None:
        self._integrate(now)
        self.num_open += 1
        self.counts["accepted"] += 1

    def refuse(self, why: str, num_sentences: int) -> None:
        """One HTTP request."""
        self.counts[why] += 1
        self.counts["refused_sentences"] += num_sentences

    def end(self, completion: Completion, accepted_s: float, now: float) -> None:
        self._integrate(now)
        self.num_open -= 1
        self._stay_s += now - accepted_s
        self.counts[_OUTCOMES.get(completion.finish_reason, "done")] += 1
        self.counts["done_length"] += completion.finish_reason is FinishReason.LENGTH

    def moment(self, now: float, totals: Mapping[str, float]) -> Moment:
        """What there is now."""
        self._integrate(now)
        prefix = f"{ITERATIONS}:"
        return Moment(
            at_s=now,
            area_s=self._area_s,
            stay_s=self._stay_s,
            accepted=self.counts["accepted"],
            refused=self.counts["refused_sentences"],
            ended=self.counts["accepted"] - self.num_open,
            done=self.counts["done"],
            failed=self.counts["failed"] + self.counts["expired"],
            iterations={name.removeprefix(prefix): value for name, value in totals.items() if name.startswith(prefix)},
        )

    def history(self, moment: Moment) -> tuple[Moment, ...]:
        """What was there before; the present moment joins it where the last is a second old."""
        history = tuple(self._history)
        if self.is_due(moment.at_s):
            self._history.append(moment)
        return history

    def is_due(self, now: float) -> bool:
        """Whether the history lacks its row of this second."""
        return not self._history or now - self._history[-1].at_s >= _STEP_S

    def _integrate(self, now: float) -> None:
        if self._since_s is not None:
            self._area_s += self.num_open * (now - self._since_s)
        self._since_s = now


@dataclass(slots=True)
class Job:
    """One request from acceptance to its answer, and for `ttl_s` after it."""

    request: CorrectionRequest
    body_hash: str
    accepted_s: float
    deadline_s: float
    ttl_s: float
    streams: bool = False  # somebody wants to hear every token
    attempts: int = 0
    owner: str | None = None  # None: queued
    cancel_reason: FinishReason | None = None
    completion: Completion | None = None

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def is_cancelled(self) -> bool:
        """Whether it ended without an answer: a request with its id begins again."""
        reasons = (FinishReason.CANCELLED, FinishReason.EXPIRED)
        return self.completion is not None and self.completion.finish_reason in reasons


@dataclass(slots=True)
class StoredRequest:
    """An HTTP request that can be found again as long as its jobs are kept."""

    record: Record
    job_ids: tuple[str, ...]
    trace: str = ""


class MemoryState:
    """All of it, under one lock; `arrived` wakes blocked workers."""

    def __init__(self, limits: MailboxLimits, waiters: Waiters) -> None:
        self.limits = limits
        self.waiters = waiters
        self.arrived = threading.Condition()
        self.ledger = Ledger()
        self.jobs: dict[str, Job] = {}
        self.open_jobs: dict[str, Job] = {}  # accepted and unfinished
        self.reserved_tokens = 0
        self.queue: deque[str] = deque()
        self.reports: dict[str, Callable[[], WorkerReport]] = {}  # of each worker
        self.requests: dict[str, StoredRequest] = {}
        self.keys: dict[str, str] = {}  # idempotency key: request id
        self._forgotten: list[tuple[float, str]] = []  # a heap: until when answers are kept

    def service_rate(self) -> float:
        """Reserved tokens per second that the workers can finish; 0 while it is not known."""
        return sum(report().service_rate_tokens_per_s for report in self.reports.values())

    def look(self) -> tuple[dict[str, WorkerReport], dict[str, float], Moment, tuple[Moment, ...]]:
        """What each worker reports, the sums of it, now, and what was before."""
        reports = {name: report() for name, report in self.reports.items()}
        totals = sum_totals([report.totals for report in reports.values()])
        now = self.ledger.moment(time.monotonic(), totals)
        return reports, totals, now, self.ledger.history(now)

    def beat(self) -> None:
        """Keep the history when nobody looks, as the workers' beats do in Redis."""
        if self.ledger.is_due(time.monotonic()):
            self.look()

    def answer_ttl_s(self, record: Record | None) -> int:
        is_kept = record is not None and (record.manner is ReplyMode.ASYNC or bool(record.key))
        return self.limits.kept_ttl_s if is_kept else self.limits.result_ttl_s

    def stored(self, request_id: str) -> StoredRequest | None:
        """The request, while all its jobs are known."""
        stored = self.requests.get(request_id)
        return stored if stored is not None and all(job_id in self.jobs for job_id in stored.job_ids) else None

    def open(self, job: Job, now: float) -> None:
        self.jobs[job.request_id] = self.open_jobs[job.request_id] = job
        self.queue.append(job.request_id)
        self.reserved_tokens += job.request.reserved_tokens
        self.ledger.accept(now)

    def end(self, job: Job, completion: Completion) -> None:
        now = time.monotonic()
        del self.open_jobs[job.request_id]
        self.reserved_tokens -= job.request.reserved_tokens
        job.completion = completion
        heapq.heappush(self._forgotten, (now + job.ttl_s, job.request_id))
        self.ledger.end(completion, job.accepted_s, now)
        is_expired = completion.finish_reason is FinishReason.EXPIRED
        self.waiters.resolve(job.request_id, admission.expired() if is_expired else completion)

    def requeue(self, jobs: list[Job]) -> None:
        """Back to the front of the queue, oldest first."""
        waiting = sorted(jobs, key=lambda job: job.accepted_s)
        for job in waiting:
            job.owner = None
        self.queue.extendleft(job.request_id for job in reversed(waiting))
        self.arrived.notify_all()

    def forget_old(self, now: float) -> None:
        while self._forgotten and self._forgotten[0][0] <= now:
            _, job_id = heapq.heappop(self._forgotten)
            job = self.jobs.get(job_id)
            if job is not None and job.completion is not None:
                del self.jobs[job_id]
        if len(self.requests) > 2 * len(self.jobs) + 64:
            self.requests = {key: value for key, value in self.requests.items() if self.stored(key) is not None}
            self.keys = {key: request_id for key, request_id in self.keys.items() if request_id in self.requests}
