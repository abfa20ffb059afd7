"""The queue as a state machine: whatever clients, workers and operators do, and in whatever order, nothing is lost.

Hypothesis draws the steps. The scripts run on a clock of the test's, so that each run can be repeated. Redis does what
the model says: each job is in exactly one place, in its order, and each worker gets exactly what it is to get. In the
end each client that waited has heard exactly one end of each of its jobs.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import inf

import fakeredis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from redis import Redis

from scheduler.messages import FinishReason, FreeCapacity, Progress
from tests.drain_model import drain
from tests.queue_machine import step
from tests.queue_model import NOBODY, ROLES, Job
from tests.queue_operators import LINES, OperatorsOfQueue
from worker.queue import formats
from worker.queue.connection import script
from worker.queue.protocol import MAX_ATTEMPTS

READERS = st.sampled_from(["one", "two"])
WORKERS = st.sampled_from(list(ROLES))
STEPS = settings(stateful_step_count=60, suppress_health_check=list(HealthCheck))


class QueueMachine(OperatorsOfQueue):
    """With a worker that does all, one that reads prompts, and one that goes on from there."""

    # What workers do.

    @step(
        7,
        when=lambda self: self.model.open(),
        worker=st.sampled_from([*ROLES, "one", "two"]),
        tokens=st.integers(1, 400),
        most=st.integers(1, 8),
        service_s=st.sampled_from([0.0, 2.0, 40.0]),
        more_async=st.integers(0, 2),
    )
    def drain(self, worker: str, tokens: int, most: int, service_s: float = 0.0, more_async: int = 1) -> None:
        self.queue.now_s += 0.001
        held, room = self.model.held_by(worker), FreeCapacity(tokens, most)
        num_others = len([job for job in held if job.waiters != [NOBODY]])
        about = num_others, service_s, more_async

        rows, dropped = self.queue.deliveries(
            worker, room, len(held), *about, LINES["read" if worker == "writer" else ""]
        )

        self.model.lease(worker)
        taken = drain(self.model, worker, room, self.queue.now_s, *about)
        assert [row[0].decode() for row in rows] == [job.name for job in taken]
        for job, (_, attempt, waited_us, _, _, left_us, is_suspect, is_async, ticket) in zip(
            taken, map(tuple, rows), strict=True
        ):
            left_s = -1e-6 if job.deadline_s == inf else job.deadline_s - self.queue.now_s
            assert (attempt, is_suspect, is_async) == (job.num_deaths + 1, job.group != "", job.waiters == [NOBODY])
            assert waited_us / 1e6 == pytest.approx(self.queue.now_s - job.accepted_s, abs=1e-3)
            assert left_us / 1e6 == pytest.approx(left_s, abs=1e-3)
            job.tickets[worker] = ticket
        self.finish(worker, [job for job in taken if job.num_deaths >= MAX_ATTEMPTS], FinishReason.ERROR)
        assert {job.name for job in held if job.called_off} <= set(dropped)
        self.drop(worker, [self.model.jobs[name] for name in dropped])

    def drop(self, worker: str, jobs: list[Job]) -> None:
        """The worker has heard what was called off."""
        mine = [job for job in jobs if job.worker == worker and job.called_off]
        self.send_ends(worker, mine, FinishReason.CANCELLED)
        for job in mine:
            self.model.end(job, job.called_off)

    def answer(self, data: st.DataObject, worker: str) -> None:
        reason = data.draw(st.sampled_from([FinishReason.STOP, FinishReason.LENGTH, FinishReason.ERROR]))
        jobs, before = self.some_of(data, self.model.held_by(worker)), self.model.counts["duplicates"]
        self.finish(worker, jobs, reason)
        if data.draw(st.booleans()):  # the reply is lost, and they are sent again
            self.send_ends(worker, jobs, reason)
        assert self.model.counts["duplicates"] == before

    def give_up(self, data: st.DataObject, worker: str) -> None:
        """By its clock the deadlines are over. What has got a later one, or a new client, goes on."""
        jobs = self.some_of(data, self.model.held_by(worker))
        self.send_ends(worker, jobs, FinishReason.EXPIRED)
        for job in jobs:
            if job.deadline_s < self.queue.now_s or job.called_off:
                self.model.end(job, "expired" if job.deadline_s < self.queue.now_s else job.called_off)
            else:
                self.model.come_back([job])

    @step(
        7,
        when=lambda self: any(job.place == "running" for job in self.model.open()),
        data=st.data(),
        how=st.sampled_from(["answer", "answer", "give_up", "hand_over", "tell", "answer_late"]),
    )
    def go_on(self, data: st.DataObject, how: str) -> None:
        """A worker that runs something."""
        self.queue.now_s += 0.001
        worker = data.draw(st.sampled_from([worker for worker in ROLES if self.model.held_by(worker)]))
        getattr(self, how)(data, worker)

    def some_of(self, data: st.DataObject, jobs: list[Job]) -> list[Job]:
        return data.draw(st.lists(st.sampled_from(jobs), unique=True, min_size=1)) if jobs else []

    def answer_late(self, data: st.DataObject, _: str) -> None:
        """A worker that had lost its lease goes on: what others run, or have answered, is not its own any more. But it
        answers for one that stands still."""
        pairs = [(worker, job.name) for job in self.model.jobs.values() for worker in job.tickets]
        worker, name = data.draw(st.sampled_from(pairs))
        job = self.model.jobs[name]
        if job.place == "running" and job.worker != worker and job.worker in self.model.stalled:
            other = job.worker
            self.finish(worker, [job], FinishReason.LENGTH)
            self.die(other)
        elif job.worker != worker and job.place != "gone":
            (own,) = self.send_ends(worker, [job], FinishReason.LENGTH)
            assert own != job.answer or job.place == "done"

    def tell(self, data: st.DataObject, worker: str) -> None:
        """How far it is with what it runs; of others it knows nothing."""
        jobs = self.model.open()
        written = [
            (job, formats.encode_progress(Progress(job.name, (7,) * data.draw(st.integers(1, 3))))) for job in jobs
        ]
        self.queue.run(script("progress", worker, *chain.from_iterable((job.name, line) for job, line in written)))
        for job, line in written:
            if job.worker == worker:
                self.model.owed.update((channel, line) for channel in job.waiters if channel != NOBODY)

    @step(1, when=lambda self: self.model.order, worker=READERS)
    def claim(self, worker: str) -> None:
        if self.queue.claim(worker):
            self.model.lease(worker)
        self.model.claims.setdefault(worker, []).append(self.model.order.pop(0))

    def hand_over(self, data: st.DataObject, worker: str) -> None:
        """The prompts were read; also some that the worker has lost to others."""
        if worker == "writer" or not self.is_redis:
            return
        jobs = self.some_of(data, self.model.held_by(worker))
        others = [job for job in self.model.open() if job.worker != worker]
        words = chain.from_iterable((job.name, b"keys and values") for job in jobs + others)
        assert self.queue.run(script("hand_over", worker, 60_000, *words)) == len(self.model.read) + len(jobs)
        for job in jobs:
            job.place, job.worker = "read", ""
        self.model.read += jobs

    @step(2, worker=WORKERS, rate=st.sampled_from([5.0, 50.0]))
    def register(self, worker: str, rate: float) -> None:
        role = ROLES[worker]
        self.queue.beat(worker, len(self.model.held_by(worker)), f"{rate}{role}", role=role.strip() or "all")
        if worker in self.model.leased - self.model.stalled:  # else it may be Redis that stood still
            self.model.reap()
        self.model.lease(worker)
        self.model.rates[worker], self.model.turned_s[worker] = rate, self.queue.now_s
        self.model.beat(self.queue.now_s)

    @step(
        3,
        when=lambda self: self.model.leased & ROLES.keys(),
        data=st.data(),
        how=st.sampled_from(["die", "die", "stall", "stall", "leave", "fail", "resync", "resync", "come late"]),
    )
    def lose_worker(self, data: st.DataObject, how: str) -> None:
        self.queue.now_s += 0.001
        busy = [worker for worker in ROLES if self.model.held_by(worker)]
        worker = data.draw(st.sampled_from(busy or sorted(self.model.leased & ROLES.keys())))
        held, claimed = self.model.held_by(worker), self.model.claims.get(worker, [])
        if how == "die":
            self.die(worker)
        elif how == "stall" and worker in self.model.leased:
            self.queue.client.zadd("miniserve:leases", {worker: 1})
            self.model.stalled.add(worker)
            for job in data.draw(st.lists(st.sampled_from(held), unique=True, max_size=1)) if held else []:
                self.take_leave(job, "")  # which has no live worker to wait for
        elif how == "leave":
            self.queue.run(script("leave", worker))
            self.model.lose(worker, has_died=False)
        elif how == "fail":  # its engine
            self.queue.run(script("leave", worker, "1"))
            self.model.come_back([*held, *claimed], has_died=True)
        elif how == "resync":  # it lost the replies of its last DRAINs, or its lease
            kept = self.some_of(data, held[data.draw(st.integers(0, 1)) :])
            lost = self.some_of(data, self.model.held_by("one"))
            disowned = self.queue.resync(worker, *{job.name for job in kept + lost})
            assert disowned == {job.name for job in lost if job.worker != worker}
            self.model.order[:0] = self.model.claims.pop(worker, [])
            self.model.lease(worker)
            self.model.come_back([job for job in held if job not in kept + lost])
        elif how == "come late":  # its DRAIN, of an earlier epoch
            assert self.queue.drain_of_earlier_epoch(worker)[0] == 1
            self.model.order[:0] = self.model.claims.pop(worker, [])

    def die(self, worker: str) -> None:
        self.queue.die(worker)
        self.model.beat(self.queue.now_s)
        self.model.stalled.add(worker)
        self.model.reap()
        self.model.beat(self.queue.now_s)

    def teardown(self) -> None:
        """A worker without faults ends all that is left; then everybody has heard everything once."""
        try:
            self.end_all()
        finally:
            self.published.close()

    def end_all(self) -> None:
        self.queue.is_full = False
        self.each_job_is_where_the_model_says()
        for worker in ROLES:
            self.queue.run(script("leave", worker))
            self.model.lose(worker, has_died=False)
        self.beat_of_another()
        self.each_line_has_its_order()
        for _ in range(10 * len(self.model.jobs)):
            if not self.model.open():
                break
            self.drain("last", 100_000, 100)
            self.finish("last", self.model.held_by("last"), FinishReason.STOP)
        self.queue.run(script("leave", "last"))
        self.each_job_is_where_the_model_says()
        self.check_the_end()

    def check_the_end(self) -> None:
        """When all that was accepted has ended."""
        seen, keys = self.queue.observe(), self.queue.client.keys("*")
        names = [
            *("workers", "workers:correct", "workers:correct-async"),
            *(f"{kind}:{worker}" for kind in ("worker", "inbox", "claim") for worker in ("last", *ROLES)),
        ]
        assert not [key for key in keys if key.partition(b":")[2].decode() in names]
        assert (seen.num_waiting, seen.num_running, seen.reserved_tokens) == (0, 0, 0)
        if not seen.counts.get("removed"):  # when those were accepted is gone with them
            within_s = 1e-5 * (seen.counts.get("accepted", 0) + 1)
            assert seen.now.area_s == pytest.approx(seen.now.stay_s, abs=within_s)  # Little's law
        for name, record in self.model.records.items():
            lives_s = self.queue.client.ttl(f"miniserve:request:{name}")
            assert record.lost_one or lives_s == pytest.approx(record.ttl_s, abs=60), name
        heard = Counter(self.published.lines())
        assert not self.model.owed - heard and not (heard - self.model.owed).keys() - self.model.unwanted


def run(client: Redis, num_examples: int, **about: bool) -> None:
    run_state_machine_as_test(
        lambda: QueueMachine(client, **about), settings=settings(STEPS, max_examples=num_examples)
    )


def test_whatever_happens_each_job_is_in_one_place_and_each_client_hears_one_end(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        run(client, settings().max_examples * 2 // 5)


def test_fakeredis_moves_jobs_as_a_redis_does() -> None:
    with fakeredis.FakeRedis() as client:
        run(client, 3, is_redis=False)
