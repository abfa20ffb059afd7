"""The worker's end of the mailbox inside one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from scheduler.messages import Completion, Delivery, FinishReason, FreeCapacity, Inbox, Progress
from worker.mailbox.memory_state import Job, MemoryState
from worker.mailbox.protocol import MAX_ATTEMPTS, MAX_BLOCK_S, WorkerReport


class InMemoryWorkerMailbox:
    """Keeps the WorkerMailbox protocol."""

    def __init__(self, name: str, state: MemoryState) -> None:
        self.name = name
        self.num_duplicates = 0
        self._state = state
        self._cancelled: set[str] = set()  # ids this worker was told to drop; its late answers do not count

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        with self._state.arrived:
            self._state.reports[self.name] = report

    def exchange(
        self,
        completions: Sequence[Completion],
        capacity: FreeCapacity,
        wait_s: float = 0.0,
        progress: Sequence[Progress] = (),
    ) -> Inbox:
        with self._state.arrived:
            self._state.beat()
            self._finish(completions)
            for each in progress:
                self._state.waiters.hear(each)
            inbox = self._drain(capacity)
            if wait_s > 0 and not inbox.deliveries and not inbox.cancelled_ids:
                self._state.arrived.wait(min(wait_s, MAX_BLOCK_S))
                inbox = self._drain(capacity)
            return inbox

    def close(self) -> None:
        with self._state.arrived:
            held = self._held()
            for job in held:  # an orderly leave: these attempts do not count
                job.attempts -= 1
            self._state.requeue(held)
            self._state.reports.pop(self.name, None)

    def give_back(self, completions: Sequence[Completion]) -> None:
        with self._state.arrived:
            self._finish(completions)
            self._newly_cancelled()
            self._state.requeue(self._held())

    def give_up(self) -> None:
        """The worker died: what it held goes back, and those attempts count."""
        with self._state.arrived:
            self._state.requeue(self._held())
            self._state.reports.pop(self.name, None)

    def _held(self) -> list[Job]:
        return [job for job in self._state.open_jobs.values() if job.owner == self.name]

    def _finish(self, completions: Sequence[Completion]) -> None:
        for completion in completions:
            job = self._state.open_jobs.get(completion.request_id)
            if job is not None and job.owner == self.name:
                self._state.end(job, completion)
            elif completion.request_id in self._cancelled:
                self._cancelled.discard(completion.request_id)
            else:
                self.num_duplicates += 1

    def _drain(self, capacity: FreeCapacity) -> Inbox:
        deliveries: list[Delivery] = []
        state, held, free_tokens, deferred_id = self._state, self._held(), capacity.tokens, ""
        share = min(capacity.requests, -(-len(state.queue) // max(1, len(state.reports))))
        is_closed = any(job.attempts > 1 for job in held)  # a suspect runs alone
        while state.queue and share > 0 and free_tokens > 0 and not is_closed:
            job = state.jobs[state.queue[0]]
            if job.deadline_s < time.monotonic():
                state.queue.popleft()
                state.end(job, Completion(job.request_id, FinishReason.EXPIRED))
                continue
            is_closed = job.attempts > 0
            if is_closed and (held or deliveries):
                break
            if job.request.reserved_tokens > free_tokens:
                deferred_id = job.request_id
                break
            free_tokens -= job.request.reserved_tokens
            share -= 1
            state.queue.popleft()
            deliveries += self._start(job)
        return Inbox(tuple(deliveries), self._newly_cancelled(), deferred_id)

    def _start(self, job: Job) -> list[Delivery]:
        job.owner = self.name
        job.attempts += 1
        self._cancelled.discard(job.request_id)
        if job.attempts > MAX_ATTEMPTS:
            text = f"gave up after {MAX_ATTEMPTS} attempts; the workers that ran it died or failed"
            self._finish([Completion(job.request_id, FinishReason.ERROR, error=text)])
            return []
        now = time.monotonic()
        return [Delivery(job.request, job.attempts, now - job.accepted_s, job.deadline_s - now, job.streams)]

    def _newly_cancelled(self) -> tuple[str, ...]:
        own = [job for job in self._held() if job.cancel_reason is not None]
        for job in own:
            self._state.end(job, Completion(job.request_id, job.cancel_reason))
        self._cancelled.update(job.request_id for job in own)
        return tuple(job.request_id for job in own)
