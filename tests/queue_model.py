"""What the queue must do with its jobs, in plain Python. tests/contract/test_queue_machine.py compares the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from worker.queue.protocol import FAILURE_TTL_S, KEPT_TTL_S, READY_WITHIN_S, MailboxLimits

LIMITS = MailboxLimits(max_requests=10, max_tokens=10 * 60)
CHANNELS = ("a", "b")  # one of each API process
NOBODY = "-"
ROLES = {"one": "", "two": " prefill", "writer": " decode"}  # of the workers
STATES = {"waiting": b"queued", "read": b"queued", "running": b"started", "done": b"done", "failed": b"done",
          "cancelled": b"canceled", "expired": b"expired", "gone": b"gone"}  # fmt: skip
STATUSES = STATES | {"done": b"finished", "failed": b"failed", "expired": b"canceled", "gone": b""}  # RQ's


@dataclass(frozen=True, slots=True)
class Asked:
    """An HTTP request of some sentences."""

    num: int
    size: int
    client: str
    kind: str  # plain: nobody else knows its id; async: nobody waits for it; keyed; any; bad: it makes no sense
    key: str
    digest: str
    within_s: float | None
    is_own_deadline: bool
    limits: str = ""  # of its client: requests and tokens a second

    @property
    def tokens(self) -> int:
        return self.size + 32

    @property
    def is_kept(self) -> bool:
        return self.kind in ("async", "keyed")


@dataclass(eq=False, repr=False)
class Job:
    """What the model knows of one."""

    name: str
    tokens: int
    client: str
    channel: str  # of the process that sent it first
    waiters: list[str]  # channels
    deadline_s: float
    kind: str = "any"
    is_own_deadline: bool = False
    record: str = ""
    place: str = "waiting"
    worker: str = ""
    group: str = ""  # of suspects, which run with one another only
    num_deaths: int = 0
    called_off: str = ""  # and how it is to end, while its worker has not heard of it
    answer: bytes = b""
    ttl_s: int = LIMITS.result_ttl_s  # of its answer
    accepted_s: float = 0.0
    forgotten_at_s: float = inf
    tickets: dict[str, bytes] = field(default_factory=dict)  # by worker

    def __repr__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.place in ("waiting", "read", "running")

    @property
    def begins_again(self) -> bool:
        """When it is sent again."""
        return self.place in ("cancelled", "expired", "gone")


@dataclass(slots=True)
class Record:
    """Of a request whose answers may be asked for again."""

    names: list[str]
    key: str
    digest: str
    kind: str
    ttl_s: int = KEPT_TTL_S  # after the last end; the week of a dead letter
    lost_one: bool = False  # a job of it was deleted by hand, and it lives as long as if it waited


class QueueModel:
    """All jobs, in the order of their arrival."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.order: list[Job] = []  # those that wait; a line each for those that nobody waits for,
        self.asyncs: list[Job] = []
        self.read: list[Job] = []  # those whose prompt was read,
        self.claims: dict[str, list[Job]] = {}  # and those that a worker has claimed
        self.rates: dict[str, float] = {}  # of the workers that are registered
        self.leased: set[str] = set()  # workers
        self.turned_s: dict[str, float] = {}  # when they beat last
        self.used: dict[str, list[float]] = {}  # until when a client has used its limits
        self.stalled: set[str] = set()  # those whose lease is over, which nobody has noticed
        self.records: dict[str, Record] = {}
        self.keys: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.owed: Counter[tuple[str, bytes]] = Counter()  # what each channel must hear
        self.unwanted: set[tuple[str, bytes]] = set()  # what it may hear: its client left while the answer came

    def open(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.is_open]

    def held_by(self, worker: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.place == "running" and job.worker == worker]

    def state(self, job: Job) -> bytes:
        """What is called off while its worker stands still has ended for those who ask."""
        is_over = job.place == "running" and job.worker in self.stalled and job.called_off
        return STATES[job.called_off if is_over else job.place]

    @property
    def rate(self) -> float:
        """In tokens a second. Of two pools the slower one counts."""
        of = {role: self.rates.get(worker, 0.0) for worker, role in ROLES.items()}
        return of[""] + min(of[" prefill"], of[" decode"])

    def live(self, now_s: float) -> set[str]:
        """Workers whose loop turns."""
        return {worker for worker, turned_s in self.turned_s.items() if turned_s >= now_s - READY_WITHIN_S}

    def known_by_key(self, name: str, key: str, digest: str) -> bytes:
        """The reply to a key that stands for another request, or b''."""
        known = self.keys.get(key, name)
        record = self.records.get(known)
        if record is None or record.digest == digest and known == name:
            return b""
        return b"known" if record.digest == digest else b"conflict"

    def refusal(self, num: int, asked: Asked, used_memory: float, num_async: int) -> bytes:
        """Of so many new jobs; b'' where they fit. `used_memory`: a share; `num_async`: how many wait in their line."""
        some, tokens, client = self.open(), num * asked.tokens, asked.client
        own = [job for job in some if job.client == client]
        used, own_used = sum(job.tokens for job in some), sum(job.tokens for job in own)
        most, most_tokens = LIMITS.max_requests, LIMITS.max_tokens
        is_half_full = len(some) + num > most / 2 or used + tokens > most_tokens / 2
        is_beside_others = bool(client and own) and len(own) < len(some)
        if is_beside_others and is_half_full and (len(own) + num > most / 2 or own_used + tokens > most_tokens / 2):
            return b"share"
        part = 7 / 8 if asked.kind == "async" else 1
        if len(some) + num > most * part or used + tokens > most_tokens * part:
            return b"full"
        if used_memory > (1 / 2 if asked.is_kept else 3 / 4):
            return b"memory"
        if asked.within_s is None or not self.rate or not used or (used + tokens) / self.rate <= asked.within_s:
            return b""
        before = used * (1 - (0 if asked.kind == "async" else min(1, num_async / len(some))))
        return b"late" if (before + tokens) / self.rate > asked.within_s else b""

    def used_until(self, asked: Asked, num: int, now_s: float) -> dict[str, list[float]] | None:
        """When the limits of its client are used so far, with this request; None where they allow it nothing now."""
        untils, costs = [], (1, num * asked.tokens)
        for at, per_s in enumerate(map(float, asked.limits.split())):
            since_s = max(now_s, self.used.get(asked.client, [0.0, 0.0])[at])
            ahead_s = max(0.0, 1 - 1 / per_s) if per_s and at == 0 else 1.0  # a second's worth at once
            if per_s and since_s > now_s + ahead_s + 1e-5:
                return None
            untils.append(since_s + costs[at] / per_s if per_s else 0.0)
        return {asked.client: untils} if untils else {}

    def count_refusal(self, why: bytes, num: int) -> None:
        if why not in (b"conflict", b"known", b"fault"):
            kind = {b"memory": "full", b"limit": "share"}.get(why, why.decode())
            self.counts[f"refused_{kind}"] += 1
            self.counts["refused_sentences"] += num

    def accept(self, job: Job, now_s: float) -> None:
        """Behind all others; one that was there before begins again."""
        job.accepted_s = now_s
        self.jobs.pop(job.name, None)
        self.jobs[job.name] = job
        (self.asyncs if job.kind == "async" else self.order).append(job)
        self.counts["accepted"] += 1

    def attach(self, job: Job, channel: str, until_s: float) -> None:
        """Somebody else waits for it, too."""
        if not job.waiters:
            job.called_off = ""  # with waiters it was called off for all
        job.waiters += [channel] if channel not in job.waiters else []
        if until_s > job.deadline_s + 1e-6:  # Redis has microseconds
            job.deadline_s, job.is_own_deadline = until_s, False

    def end(self, job: Job, place: str, answer: bytes = b"", now_s: float = inf) -> None:
        """`gone`: without an answer, and nobody hears of it."""
        line = answer or f"-{job.name}".encode()
        self.unwanted |= {(channel, line) for channel in CHANNELS if job.called_off}
        if place != "gone":
            self.owed.update((channel, line) for channel in job.waiters if channel != NOBODY)
        if place == "expired":
            self.counts["expired_running" if job.place == "running" else "expired_waiting"] += 1
            self.counts["expired_own"] += job.is_own_deadline
        self.counts["removed" if place == "gone" else place] += 1
        if record := self.records.get(job.record):
            record.lost_one |= place == "gone"
            record.ttl_s = FAILURE_TTL_S if place == "failed" else record.ttl_s
        self.take_out(job)
        job.place, job.worker, job.answer, job.group, job.num_deaths, job.called_off = place, "", answer, "", 0, ""
        job.forgotten_at_s = now_s + job.ttl_s if place == "done" else inf

    def take_out(self, job: Job) -> None:
        for line in (self.order, self.asyncs, self.read, *self.claims.values()):
            if job in line:
                line.remove(job)

    def come_back(self, jobs: Iterable[Job], has_died: bool = False) -> None:
        """To the front, in the order of their arrival; of a worker that died what it ran is suspected."""
        some = sorted(jobs, key=list(self.jobs.values()).index)
        for job in [job for job in some if job.called_off]:
            self.end(job, job.called_off)
        back = [job for job in some if job.is_open]
        suspects = [job for job in back if has_died and job.place == "running"]
        size = int(len(suspects) ** 0.5 + 0.5)
        for at, job in enumerate(suspects):
            job.group = job.name if job.group else suspects[at - at % size].name
            job.num_deaths += len(suspects) == 1
        for job in back:
            self.take_out(job)
            job.place, job.worker = "waiting", ""
        self.order[:0] = back

    def lease(self, worker: str) -> None:
        self.leased.add(worker)
        self.stalled.discard(worker)

    def reap(self) -> None:
        for worker in sorted(self.stalled):
            self.lose(worker, has_died=True)

    def lose(self, worker: str, has_died: bool) -> None:
        """What it held and had claimed comes back."""
        self.rates.pop(worker, None)
        self.turned_s.pop(worker, None)
        self.leased.discard(worker)
        self.stalled.discard(worker)
        self.come_back([*self.held_by(worker), *self.claims.pop(worker, [])], has_died)

    def beat(self, now_s: float) -> None:
        """Once a second: what was read goes back where nobody can take it, and old answers are forgotten."""
        if "writer" not in self.rates:
            for job in self.read:
                job.place = "waiting"
            self.order[:0], self.read = self.read, []
        for job in self.jobs.values():
            if job.forgotten_at_s <= now_s:
                job.place, job.answer, job.forgotten_at_s = "gone", b"", inf

    def put_back(self, job: Job, num_deaths: int, now_s: float) -> None:
        """A dead letter, behind all others; it has no deadline any more."""
        job.place, job.answer, job.client, job.deadline_s, job.num_deaths = "waiting", b"", "", inf, num_deaths
        job.group, job.kind = job.name if num_deaths else "", "any"
        self.accept(job, now_s)
