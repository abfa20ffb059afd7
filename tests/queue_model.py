"""What the queue must do with its jobs, in plain Python. tests/contract/test_queue_machine.py compares the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from worker.queue.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=10, max_tokens=10 * 60)
CHANNELS = ("a", "b")  # one of each API process
NOBODY = "-"
STATES = {"waiting": b"queued", "running": b"started", "done": b"done", "failed": b"done", "cancelled": b"canceled",
          "expired": b"expired", "removed": b"gone"}  # fmt: skip


@dataclass(eq=False, repr=False)
class Job:
    """What the model knows of one."""

    name: str
    tokens: int
    client: str
    channel: str  # of the process that sent it first
    waiters: list[str]  # channels
    deadline_s: float
    kind: str = "any"  # plain: nobody else knows its id; async: nobody waits for it
    place: str = "waiting"
    worker: str = ""
    is_suspect: bool = False
    called_off: str = ""  # and how it is to end, while its worker has not heard of it
    answer: bytes = b""
    tickets: dict[str, bytes] = field(default_factory=dict)  # by worker

    def __repr__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.place in ("waiting", "running")


class QueueModel:
    """All jobs, in the order of their arrival."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.order: list[Job] = []  # those that wait, but for the asynchronous ones that have never run
        self.owed: Counter[tuple[str, bytes]] = Counter()  # what each channel must hear
        self.unwanted: set[tuple[str, bytes]] = set()  # what it may hear: its client left while the answer came

    def open(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.is_open]

    def held_by(self, worker: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.place == "running" and job.worker == worker]

    def refusal(self, num: int, tokens: int, client: str, is_async: bool) -> bytes:
        """Of so many new jobs; b'' where they fit."""
        some = self.open()
        own = [job for job in some if job.client == client]
        used, own_used = sum(job.tokens for job in some), sum(job.tokens for job in own)
        most, most_tokens = LIMITS.max_requests, LIMITS.max_tokens
        is_half_full = len(some) + num > most / 2 or used + tokens > most_tokens / 2
        is_beside_others = bool(client and own) and len(own) < len(some)
        if is_beside_others and is_half_full and (len(own) + num > most / 2 or own_used + tokens > most_tokens / 2):
            return b"share"
        part = 7 / 8 if is_async else 1
        return b"full" if len(some) + num > most * part or used + tokens > most_tokens * part else b""

    def end(self, job: Job, place: str, answer: bytes = b"") -> None:
        line = answer or f"-{job.name}".encode()
        self.unwanted |= {(channel, line) for channel in CHANNELS if job.called_off}
        if place != "removed":
            self.owed.update((channel, line) for channel in job.waiters if channel != NOBODY)
        if job in self.order:
            self.order.remove(job)
        job.place, job.worker, job.answer, job.is_suspect, job.called_off = place, "", answer, False, ""

    def come_back(self, jobs: Iterable[Job]) -> None:
        """To the front, in the order of their arrival."""
        back = []
        for job in jobs:
            if job.called_off:
                self.end(job, job.called_off)
            else:
                job.place, job.worker = "waiting", ""
                back.append(job)
        self.order[:0] = sorted(back, key=list(self.jobs.values()).index)

    def waits_in_vain(self, taken: list[Job], held: list[Job], tokens: int, most: int) -> bool:
        """Whether the worker took less than fits. Not known where there are suspects, or asynchronous jobs."""
        if any(job.is_suspect for job in [*self.order, *taken, *held]) or any(
            job.kind == "async" for job in self.open()
        ):
            return False
        left = [job for job in self.order if job not in taken]
        return bool(left) and len(taken) < most and left[0].tokens <= tokens - sum(job.tokens for job in taken)
