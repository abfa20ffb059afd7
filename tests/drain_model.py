"""What DRAIN must give to a worker, in plain Python: exactly these jobs, in this order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from scheduler.messages import FreeCapacity
from tests.queue_model import Job, QueueModel

AT_LEAST = 16  # tokens that a job takes
MOST_SUSPECTS = 32


def drain(
    model: QueueModel, worker: str, room: FreeCapacity, now_s: float, num_others: int, service_s: float, more_async: int
) -> list[Job]:
    """What the worker gets: its claims, and its share of a line. What it finds late ends."""
    is_writer = worker == "writer"
    line, asyncs = (model.read, []) if is_writer else (model.order, model.asyncs)
    takers = 1 if is_writer else max(1, len(model.rates.keys() - {"writer"}))
    most = min(room.requests, ceil(room.tokens / AT_LEAST))
    claimed, share = model.claims.pop(worker, []), min(ceil(len(line) / takers), most)
    shared = [*claimed, *line[:share]]
    in_line = [*shared, *line[share:MOST_SUSPECTS]]
    own_asyncs = asyncs[: min(ceil(len(asyncs) / takers), most)]
    taking = _Taking(model, room, now_s + (service_s if model.held_by(worker) else 0), bool(model.held_by(worker)))
    before, asyncs_before, num_asyncs = list(line), list(asyncs), 0

    head = shared[0] if shared else None
    if head is None or not (head.group or head.tokens > room.tokens):
        num_asyncs = taking.take_in(own_asyncs, lambda _: len(taking.taken) < more_async, is_async=True)
    num_taken = len(taking.taken)
    num = taking.take_in(in_line, lambda at: at < len(shared) or bool(taking.group))
    if num_others == 0 and num == len(in_line) and len(taking.taken) == num_taken:
        num_asyncs += taking.take_in(own_asyncs[num_asyncs:], lambda _: True, is_async=True)

    line[:] = [*claimed[num:], *before[max(0, num - len(claimed)) :]]
    asyncs[:] = asyncs_before[num_asyncs:]
    for job in taking.taken:
        job.place, job.worker = "running", worker
    return taking.taken


class _Taking:
    """One DRAIN."""

    def __init__(self, model: QueueModel, room: FreeCapacity, late_s: float, holds_others: bool) -> None:
        self._model, self._most, self._tokens = model, room.requests, room.tokens
        self._late_s, self._holds_others = late_s, holds_others
        self._is_over = False
        self.taken: list[Job] = []
        self.group = ""

    def take_in(self, jobs: Sequence[Job], goes_on: Callable[[int], bool], is_async: bool = False) -> int:
        """Take or drop them one by one; return how many."""
        num = 0
        while num < len(jobs) and goes_on(num) and self._take(jobs[num], is_async):
            num += 1
        return num

    def _take(self, job: Job, is_async: bool) -> bool:
        """False if it must wait, and all behind it."""
        if self._is_over or len(self.taken) >= self._most:
            return False
        if job.deadline_s < self._late_s or job.called_off:
            self._model.end(job, "expired" if job.deadline_s < self._late_s else job.called_off)
            return True
        is_beside_others = job.group and self._holds_others or self.taken and job.group != self.group
        if is_beside_others or job.tokens > self._tokens:
            self._is_over = bool(is_beside_others) or not is_async
            return False
        self.group = job.group
        self._tokens -= job.tokens
        self.taken.append(job)
        return True
