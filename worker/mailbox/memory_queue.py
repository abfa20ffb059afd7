"""The queue inside one process: jobs, requests, and counts as Redis keeps them; and the worker's end of it."""

from __future__ import annotations

import heapq
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from scheduler.capacity.observed import Moment
from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason, FreeCapacity, Inbox, Progress
from scheduler.observations import ITERATIONS
from worker.mailbox.protocol import MAX_ATTEMPTS, MAX_BLOCK_S, WorkerReport
from worker.mailbox.waiters import Waiters

_ROWS, _STEP_S = 120, 1.0
_OUTCOMES = {
    FinishReason.ERROR: "failed", FinishReason.CANCELLED: "cancelled", FinishReason.EXPIRED: "expired",
}  # fmt: skip


class Ledger:
    """Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._num_open = 0
        self._stay_s = 0.0
        self._law_s = 0.0  # the times of all ends less those of all acceptances, as in Redis
        self._history: deque[Moment] = deque(maxlen=_ROWS)

    def accept(self, now: float) -> None:
        self._num_open += 1
        self._law_s -= now
        self.counts["accepted"] += 1

    def refuse(self, why: str, num_sentences: int) -> None:
        """One HTTP request."""
        self.counts[why] += 1
        self.counts["refused_sentences"] += num_sentences

    def end(self, completion: Completion, accepted_s: float, now: float) -> None:
        self._num_open -= 1
        self._law_s += now
        self._stay_s += now - accepted_s
        self.counts[_OUTCOMES.get(completion.finish_reason, "done")] += 1
        self.counts["done_length"] += completion.finish_reason is FinishReason.LENGTH

    def moment(self, now: float, totals: Mapping[str, float]) -> Moment:
        """What there is now."""
        prefix = f"{ITERATIONS}:"
        return Moment(
            at_s=now,
            area_s=self._num_open * now + self._law_s,
            stay_s=self._stay_s,
            accepted=self.counts["accepted"],
            refused=self.counts["refused_sentences"],
            ended=self.counts["accepted"] - self._num_open,
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


@dataclass(slots=True)
class Job:
    """One request from acceptance to its answer, and for `ttl_s` after it."""

    request: CorrectionRequest
    accepted_s: float
    deadline_s: float
    ttl_s: float
    streams: bool = False  # somebody wants to hear every token
    client: str = ""
    attempts: int = 0  # how often its worker died while it ran by itself
    group: str = ""  # of suspects that run together; empty of any other
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

    document: str
    tokenizer_fingerprint: str
    digest: str
    job_ids: tuple[str, ...]


class MemoryQueue:
    """All of it, under one lock; `arrived` wakes blocked workers."""

    def __init__(self) -> None:
        self.waiters = Waiters()
        self.arrived = threading.Condition()
        self.ledger = Ledger()
        self.jobs: dict[str, Job] = {}
        self.open_jobs: dict[str, Job] = {}  # accepted and unfinished
        self.reserved_tokens = 0
        self.queued_ids: deque[str] = deque()
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
        totals: dict[str, float] = {}
        for report in reports.values():
            totals |= {name: totals.get(name, 0) + value for name, value in report.totals.items()}
        now = self.ledger.moment(time.monotonic(), totals)
        return reports, totals, now, self.ledger.history(now)

    def stored(self, request_id: str) -> StoredRequest | None:
        """The request, while all its jobs are known."""
        stored = self.requests.get(request_id)
        return stored if stored is not None and all(job_id in self.jobs for job_id in stored.job_ids) else None

    def open(self, job: Job) -> None:
        self.jobs[job.request_id] = self.open_jobs[job.request_id] = job
        self.queued_ids.append(job.request_id)
        self.reserved_tokens += job.request.reserved_tokens
        self.ledger.accept(job.accepted_s)

    def end(self, job: Job, completion: Completion) -> None:
        now = time.monotonic()
        del self.open_jobs[job.request_id]
        self.reserved_tokens -= job.request.reserved_tokens
        job.completion = completion
        heapq.heappush(self._forgotten, (now + job.ttl_s, job.request_id))
        self.ledger.end(completion, job.accepted_s, now)
        self.waiters.resolve(job.request_id, completion)

    def requeue(self, jobs: list[Job], has_died: bool = False) -> None:
        """Back to the front of the queue, oldest first; where their worker died, as suspects."""
        waiting = sorted(jobs, key=lambda job: job.accepted_s)
        if has_died:
            _suspect(waiting)
        for job in waiting:
            job.owner = None
        self.queued_ids.extendleft(job.request_id for job in reversed(waiting))
        self.arrived.notify_all()

    def forget_old(self, now: float) -> None:
        while self._forgotten and self._forgotten[0][0] <= now:
            _, job_id = heapq.heappop(self._forgotten)
            if (job := self.jobs.get(job_id)) is not None and job.completion is not None:
                del self.jobs[job_id]
        if len(self.requests) > 2 * len(self.jobs) + 64:
            self.requests = {key: value for key, value in self.requests.items() if self.stored(key) is not None}
            self.keys = {key: request_id for key, request_id in self.keys.items() if request_id in self.requests}


class InMemoryWorkerMailbox:
    """Keeps the WorkerMailbox protocol."""

    def __init__(self, name: str, queue: MemoryQueue) -> None:
        self.name = name
        self.num_duplicates = 0
        self._queue = queue
        self._cancelled: set[str] = set()  # ids this worker has to drop; its late answers do not count

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        with self._queue.arrived:
            self._queue.reports[self.name] = report

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        queue = self._queue
        with queue.arrived:
            if queue.ledger.is_due(time.monotonic()):
                queue.look()  # keeps the history when nobody else looks, as the workers' beats do in Redis
            self._finish(completions)
            for each in progress:
                queue.waiters.hear(each)
            inbox = self._drain(capacity)
            if wait_s > 0 and not inbox.deliveries and not inbox.cancelled_ids:
                queue.arrived.wait(min(wait_s, MAX_BLOCK_S))
                inbox = self._drain(capacity)
            return inbox

    def close(self) -> None:
        with self._queue.arrived:
            self._queue.requeue(self._held())
            self._queue.reports.pop(self.name, None)

    def give_back(self, completions: Sequence[Completion]) -> None:
        with self._queue.arrived:
            self._finish(completions)
            self._newly_cancelled()
            self._queue.requeue(self._held(), has_died=True)

    def give_up(self) -> None:
        """The worker died with what it held."""
        with self._queue.arrived:
            self._queue.requeue(self._held(), has_died=True)
            self._queue.reports.pop(self.name, None)

    def _held(self) -> list[Job]:
        return [job for job in self._queue.open_jobs.values() if job.owner == self.name]

    def _finish(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            job = self._queue.open_jobs.get(completion.request_id)
            if job is not None and job.owner == self.name:
                self._queue.end(job, completion)
            elif completion.request_id in self._cancelled:
                self._cancelled.discard(completion.request_id)
            else:
                self.num_duplicates += 1

    def _drain(self, capacity: FreeCapacity) -> Inbox:
        deliveries: list[Delivery] = []
        queue, held, free_tokens, deferred_id = self._queue, self._held(), capacity.tokens, ""
        share = -(-len(queue.queued_ids) // max(1, len(queue.reports)))
        group = held[0].group if held else ""
        while queue.queued_ids and free_tokens > 0 and len(deliveries) < capacity.requests:
            if len(deliveries) >= share and not group:  # a group is not shared
                break
            job = queue.jobs[queue.queued_ids[0]]
            if job.deadline_s < time.monotonic():
                queue.queued_ids.popleft()
                queue.end(job, Completion(job.request_id, FinishReason.EXPIRED))
                continue
            if (held or deliveries) and job.group != group or held and group:
                break
            if job.request.reserved_tokens > free_tokens:
                deferred_id = job.request_id
                break
            group = job.group
            free_tokens -= job.request.reserved_tokens
            queue.queued_ids.popleft()
            deliveries += self._start(job)
        return Inbox(tuple(deliveries), self._newly_cancelled(), deferred_id)

    def _start(self, job: Job) -> list[Delivery]:
        job.owner = self.name
        self._cancelled.discard(job.request_id)
        if job.attempts >= MAX_ATTEMPTS:
            text = f"gave up after {MAX_ATTEMPTS} attempts; the workers that ran it died or failed"
            self._finish([Completion(job.request_id, FinishReason.ERROR, error=text)])
            return []
        waited_s, left_s = time.monotonic() - job.accepted_s, job.deadline_s - time.monotonic()
        return [Delivery(job.request, job.attempts + 1, waited_s, left_s, job.streams, bool(job.group))]

    def _newly_cancelled(self) -> tuple[str, ...]:
        own = [(job, job.cancel_reason) for job in self._held() if job.cancel_reason is not None]
        for job, reason in own:
            self._queue.end(job, Completion(job.request_id, reason))
        ids = tuple(job.request_id for job, _ in own)
        self._cancelled.update(ids)
        return ids


def _suspect(jobs: list[Job]) -> None:
    """Do what recovery.lua does (`suspect`)."""
    size = int(sqrt(len(jobs)) + 0.5)
    names = [jobs[at - at % size].request_id for at in range(len(jobs))]
    for job, name in zip(jobs, names, strict=True):
        job.group = job.request_id if job.group else name
        job.attempts += len(jobs) == 1
