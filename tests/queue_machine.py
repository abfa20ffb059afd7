"""The steps that clients take in the state machine of the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from math import inf
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from redis import Redis

from scheduler.messages import Completion, FinishReason
from tests.mailbox_house import a_request
from tests.queue_model import CHANNELS, LIMITS, NOBODY, Asked, Job, QueueModel, Record
from tests.recorded_requests import a_record
from tests.scripted_queue import Published, ScriptedQueue
from worker.queue import formats
from worker.queue.connection import script
from worker.queue.protocol import KEPT_TTL_S, Submission

F = TypeVar("F", bound=Callable[..., None])
WITHIN_S = st.sampled_from([None, 1.25, 30.25])
KINDS = st.sampled_from(["plain", "plain", "any", "any", "async", "keyed", "bad"])
REQUESTS = st.builds(
    Asked, num=st.integers(1, 4), size=st.integers(1, 40), client=st.sampled_from(["1", "2", ""]), kind=KINDS,
    key=st.sampled_from(["k", "l"]), digest=st.sampled_from(["same", "same", "other"]), within_s=WITHIN_S,
    is_own_deadline=st.booleans(), limits=st.sampled_from(["", "", "", "3 0", "0 0.1", "0.01 50"]),
)  # fmt: skip


def step(
    weight: int, when: Callable[[Any], object] = lambda _: True, **draws: st.SearchStrategy[Any]
) -> Callable[[F], F]:
    """How often a step is taken, when, and with what. Hypothesis leaves out half of the rules of an example, by chance.
    These need each other, so there is one rule, which draws a step."""

    def mark(method: F) -> F:
        method.about = weight, when, draws
        return method

    return mark


class ClientsOfQueue(RuleBasedStateMachine):
    """Two API processes, a clock, and the model."""

    def __init__(self, client: Redis, is_redis: bool = True) -> None:
        """`is_redis`: it knows a limit of memory, and what it may keep from its replicas."""
        super().__init__()
        self.is_redis = is_redis
        client.flushall()
        self.queue = ScriptedQueue(client)
        self.queue.limits = LIMITS
        self.published = Published(client, CHANNELS)
        self.model = QueueModel()
        self.num_names = 0

    @rule(data=st.data())
    def take_a_step(self, data: st.DataObject) -> None:
        method = getattr(self, data.draw(st.sampled_from(self.possible_steps())))
        _, _, draws = method.about
        method(**{name: data if name == "data" else data.draw(strategy, name) for name, strategy in draws.items()})

    def possible_steps(self) -> list[str]:
        """Each as often as its weight says."""
        found = [
            (name, method.about) for name in dir(type(self)) if hasattr(method := getattr(type(self), name), "about")
        ]
        return [name for name, (weight, when, _) in found if when(self) for _ in range(weight)]

    # What clients do.

    def new_names(self, num: int) -> list[str]:
        self.num_names += num
        return [f"j{self.num_names - each}" for each in range(num, 0, -1)]

    def submission(self, asked: Asked, names: Sequence[str], record_id: str = "") -> Submission:
        about = {"key": asked.key, "digest": asked.digest} if asked.kind == "keyed" else {}
        about |= {"client": asked.client, "limits": asked.limits}
        record = a_record(record_id or names[0], is_async=asked.kind == "async", **about)
        tokens = -1 if asked.kind == "bad" else 32
        requests = tuple(a_request(name, asked.size if tokens > 0 else 0, tokens) for name in names)
        record.is_own_deadline = asked.is_own_deadline
        return replace(record, requests=requests, within_s=asked.within_s, may_be_known=asked.kind != "plain")

    def send(self, wanted: Sequence[Submission], channel: str, used_memory: float = 0.0) -> list[list[bytes]]:
        """With a part of the memory in use, as a beat has noted it: of Redis' limit, or else of the assumed one."""
        self.queue.now_s += 2e-5  # jobs accepted at one instant would have no order
        most = self.num_names % 2 * 64 * 2**20
        memory = {"used_memory": int(used_memory * (most or LIMITS.max_memory_bytes)), "max_memory": most}
        self.queue.client.hset("miniserve:counts", mapping=memory)
        replies = self.queue.send(wanted, channel)
        for client in {one.client for one in wanted if one.limits}:
            self.queue.client.persist(f"miniserve:limit:{client}")  # Redis has another clock
        return replies

    @step(
        5,
        packet=st.lists(REQUESTS, min_size=1, max_size=3),
        channel=st.sampled_from(CHANNELS),
        used_memory=st.sampled_from([0.0, 0.0, 0.0, 0.0, 0.4, 0.6, 0.7, 0.8]),
    )
    def submit(self, packet: list[Asked], channel: str, used_memory: float) -> None:
        """Some requests at once, which one script takes one by one."""
        self.queue.now_s += 0.001
        packet = packet[:1] if self.queue.is_full else packet
        names, num_async = [self.new_names(asked.num) for asked in packet], len(self.model.asyncs)
        wanted = [self.submission(asked, some) for asked, some in zip(packet, names, strict=True)]

        if self.queue.is_full:
            assert self.send(wanted, channel)[0][0] == self.expected(packet[0], names[0], channel, 0.0, num_async)
            return
        replies = self.send(wanted, channel, used_memory)

        expected = [
            self.expected(asked, some, channel, used_memory, num_async)
            for asked, some in zip(packet, names, strict=True)
        ]
        assert [reply[0] for reply in replies] == expected
        if expected[0] == b"accepted":
            created_at = self.queue.client.hget(f"rq:job:{names[0][0]}", "created_at").decode()
            now = datetime.fromtimestamp(self.queue.micros // 1_000_000, UTC)
            assert datetime.fromisoformat(created_at).replace(microsecond=0) == now
        for asked, (reply, *facts) in zip(packet, replies, strict=True):
            if reply == b"known":
                assert facts == [self.model.keys[asked.key].encode()]
                self.send_again(self.model.keys[asked.key], channel, asked.within_s)

    def expected(self, asked: Asked, names: list[str], channel: str, used_memory: float, num_async: int) -> bytes:
        """The reply to new jobs, which the model accepts where that is the reply."""
        known = self.model.known_by_key(names[0], asked.key, asked.digest) if asked.kind == "keyed" else b""
        why = b"fault" if asked.kind == "bad" else known
        why = why or self.model.refusal(len(names), asked, used_memory, num_async)
        used = self.model.used_until(asked, len(names), self.queue.now_s)
        if why or used is None:
            self.model.count_refusal(why or b"limit", len(names))
            return why or b"limit"
        if self.queue.is_full:
            return b"memory"  # by Redis itself: nothing is written, nor counted
        if asked.is_kept:
            self.keep(names[0], names, asked)
        self.model.used |= used
        self.accept(names, asked, channel, names[0] if asked.is_kept else "")
        return b"accepted"

    def accept(self, names: Sequence[str], asked: Asked, channel: str, record_id: str) -> None:
        until_s = inf if asked.within_s is None else self.queue.now_s + asked.within_s
        is_own = asked.is_own_deadline and asked.within_s is not None
        ttl_s = KEPT_TTL_S if record_id else LIMITS.result_ttl_s
        for name in names:
            waiters = [NOBODY if asked.kind == "async" else channel]
            about = asked.client, channel, waiters, until_s, asked.kind, is_own, record_id
            self.model.accept(Job(name, asked.tokens, *about, ttl_s=ttl_s), self.queue.now_s)

    def keep(self, record_id: str, names: list[str], asked: Asked) -> None:
        key = asked.key if asked.kind == "keyed" else ""
        self.model.records.setdefault(record_id, Record(names, key, asked.digest, asked.kind))
        if key:
            self.model.keys[key] = record_id

    @step(
        3,
        when=lambda self: self.model.jobs and not self.queue.is_full,
        data=st.data(),
        channel=st.sampled_from(CHANNELS),
        within_s=WITHIN_S,
        has_left=st.booleans(),
    )
    def submit_again(self, data: st.DataObject, channel: str, within_s: float | None, has_left: bool) -> None:
        """The reply was lost, somebody else wants the same, or a client is back that has just left."""
        self.queue.now_s += 0.001
        job = self.draw_job(data)
        if has_left:
            for each in [each for each in job.waiters if each != NOBODY]:
                self.take_leave(job, each)
        if job.record in self.model.records:
            self.send_again(job.record, channel, within_s)
            return
        if job.kind == "plain":  # by the same process, with the rest of its time
            channel, left_s = job.channel, job.deadline_s - self.queue.now_s
            within_s = None if left_s == inf else max(0.0, round(left_s, 3))
        self.send_jobs([job], "any", channel, within_s)

    def send_again(self, record_id: str, channel: str, within_s: float | None) -> None:
        """All of a request that is kept."""
        record = self.model.records[record_id]
        jobs = [self.model.jobs[name] for name in record.names]
        if known := self.model.known_by_key(record_id, record.key, record.digest) if record.key else b"":
            asked = Asked(1, 1, "", "keyed", record.key, record.digest, within_s, False)
            assert self.send([self.submission(asked, record.names, record_id)], channel)[0][0] == known
        else:
            self.send_jobs(jobs, record.kind, channel, within_s, record_id)

    def send_jobs(self, jobs: list[Job], kind: str, channel: str, within_s: float | None, record_id: str = "") -> None:
        """Jobs that Redis knows, or did know."""
        record, new = self.model.records.get(record_id), [job for job in jobs if job.begins_again]
        key, digest = (record.key, record.digest) if record else ("", "same")
        asked = Asked(len(jobs), jobs[0].tokens - 32, "", kind, key, digest, within_s, False)
        why = self.model.refusal(len(new), asked, 0.0, len(self.model.asyncs)) if new else b""
        expected = why or (b"attached" if len(new) < len(jobs) else b"accepted")

        ((reply, *_),) = self.send([self.submission(asked, [job.name for job in jobs], record_id)], channel)

        assert reply == expected
        if why:
            self.model.count_refusal(why, len(new))
            return
        until_s = inf if within_s is None else self.queue.now_s + within_s
        for job in [job for job in jobs if not job.begins_again]:
            self.model.attach(job, NOBODY if kind == "async" else channel, until_s)
        self.accept([job.name for job in new], asked, channel, record_id)
        if record and key:
            self.model.keys[key] = record_id

    @step(2, when=lambda self: self.model.jobs, data=st.data(), channel=st.sampled_from([*CHANNELS, *CHANNELS, ""]))
    def cancel(self, data: st.DataObject, channel: str) -> None:
        """A client leaves; without a channel it is called off for all."""
        self.queue.now_s += 0.001
        self.take_leave(self.draw_job(data), channel)

    def draw_job(self, data: st.DataObject) -> Job:
        """Any, and most often one that has not ended."""
        open_names = [job.name for job in self.model.open()]
        return self.model.jobs[data.draw(st.sampled_from(2 * open_names + list(self.model.jobs)))]

    def take_leave(self, job: Job, channel: str) -> None:
        why = FinishReason.CANCELLED if job.deadline_s > self.queue.now_s else FinishReason.EXPIRED
        self.queue.cancel(job.name, why, channel)
        if not job.is_open:
            return
        if channel:
            job.waiters = [other for other in job.waiters if other != channel]
        if channel and job.waiters:
            return
        how = "cancelled" if why is FinishReason.CANCELLED else "expired"
        if job.place == "running" and job.worker not in self.model.stalled:
            job.called_off = how
        else:
            self.model.end(job, how)

    # What workers answer.

    def send_ends(self, worker: str, jobs: list[Job], reason: FinishReason) -> list[bytes]:
        """Return the payload of each answer."""
        error = "it broke" if reason is FinishReason.ERROR else None
        ends = [formats.finish_arguments(Completion(job.name, reason, (7, 1), error=error)) for job in jobs]
        words = [(*end, job.tickets.get(worker, b"")) for end, job in zip(ends, jobs, strict=True)]
        if words:
            self.model.counts["duplicates"] += self.queue.run(script("finish", worker, *chain.from_iterable(words)))
        return [end[2] for end in ends]

    def finish(self, worker: str, jobs: list[Job], reason: FinishReason) -> None:
        place = "failed" if reason is FinishReason.ERROR else "done"
        for job, answer in zip(jobs, self.send_ends(worker, jobs, reason), strict=True):
            self.model.end(job, place, answer, self.queue.now_s)
            self.model.counts["done_length"] += reason is FinishReason.LENGTH
