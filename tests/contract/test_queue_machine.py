"""The queue as a state machine: whatever clients, workers and operators do, and in whatever order, nothing is lost.

Hypothesis draws the steps. The scripts run on a clock of the test's, so that each run can be repeated. After every step
each job is in exactly one place, as the model says, and the order of the queue is the model's; in the end each client
that waited has heard exactly one end of each of its jobs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from math import inf

import fakeredis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from scheduler.messages import Completion, FinishReason, FreeCapacity
from tests.mailbox_house import a_request
from tests.queue_model import CHANNELS, LIMITS, NOBODY, STATES, Job, QueueModel
from tests.recorded_requests import a_record
from tests.scripted_queue import Published, ScriptedQueue
from worker.queue import formats
from worker.queue.connection import script
from worker.queue.protocol import MAX_ATTEMPTS

WORKERS = ("one", "two")
KINDS = ("plain", "any", "any", "async")
STEPS = settings(stateful_step_count=50, suppress_health_check=list(HealthCheck))


class QueueMachine(RuleBasedStateMachine):
    """Two API processes, two workers, an operator, and a clock."""

    def __init__(self, client: Redis) -> None:
        super().__init__()
        client.flushall()
        self.queue = ScriptedQueue(client)
        self.queue.limits = LIMITS
        self.published = Published(client, CHANNELS)
        self.model = QueueModel()
        self.num_duplicates = 0

    # What happens.

    @rule(
        num=st.integers(1, 4), size=st.integers(1, 40), within_s=st.sampled_from([None, 1.25, 30.25]),
        channel=st.sampled_from(CHANNELS), client=st.sampled_from(["1", "2", ""]), kind=st.sampled_from(KINDS),
    )  # fmt: skip
    def submit(self, num: int, size: int, within_s: float | None, channel: str, client: str, kind: str) -> None:
        self.queue.now_s += 0.001
        names = [f"j{len(self.model.jobs) + place}" for place in range(num)]
        record = a_record(names[0], is_async=kind == "async", client=client)
        requests = tuple(a_request(name, size) for name in names)
        wanted = replace(record, requests=requests, within_s=within_s, may_be_known=kind == "any")
        expected = self.model.refusal(num, num * (size + 32), client, kind == "async") or b"accepted"

        ((reply, *_),) = self.queue.send([wanted], channel)

        assert reply == expected
        for name in names if reply == b"accepted" else ():
            waiters = [NOBODY] if kind == "async" else [channel]
            until_s = inf if within_s is None else self.queue.now_s + within_s
            self.model.jobs[name] = job = Job(name, size + 32, client, channel, waiters, until_s, kind)
            if kind != "async":
                self.model.order.append(job)

    submit_more = submit  # as often again: the queue is to be full now and then

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data(), channel=st.sampled_from(CHANNELS), within_s=st.sampled_from([None, 1.25, 30.25]))
    def submit_again(self, data: st.DataObject, channel: str, within_s: float | None) -> None:
        """The reply was lost, or somebody else wants the same."""
        self.queue.now_s += 0.001
        job = self.model.jobs[data.draw(st.sampled_from(list(self.model.jobs)))]
        if job.kind == "plain":  # by the same process, with the rest of its time
            channel, left_s = job.channel, job.deadline_s - self.queue.now_s
            within_s = None if left_s == inf else max(0.0, round(left_s, 3))
        until_s = inf if within_s is None else self.queue.now_s + within_s
        is_new = job.place in ("cancelled", "expired", "removed")
        expected = self.model.refusal(1, job.tokens, "", False) or b"accepted" if is_new else b"attached"
        again = replace(a_record(job.name), requests=(a_request(job.name, job.tokens - 32),), within_s=within_s)

        ((reply, *_),) = self.queue.send([again], channel)

        assert reply == expected
        if reply == b"attached" and job.is_open:
            job.called_off = job.called_off if job.waiters else ""  # with waiters it was called off for all
            job.waiters += [channel] if channel not in job.waiters else []
            job.deadline_s = max(job.deadline_s, until_s)
        elif reply == b"accepted":
            del self.model.jobs[job.name]
            self.model.jobs[job.name] = anew = Job(job.name, job.tokens, "", channel, [channel], until_s)
            self.model.order.append(anew)

    @rule(worker=st.sampled_from(WORKERS), tokens=st.integers(0, 400), most=st.integers(1, 6))
    def drain(self, worker: str, tokens: int, most: int) -> None:
        self.queue.now_s += 0.001
        held, late = self.model.held_by(worker), [job for job in self.model.open() if job.deadline_s < self.queue.now_s]
        num_others = len([job for job in held if job.kind != "async"])
        room = FreeCapacity(tokens, most)

        deliveries, dropped = self.queue.deliveries(worker, room, len(held), num_others)

        taken = [self.model.jobs[row[0].decode()] for row in deliveries]
        assert all(job.place == "waiting" and job not in late for job in taken)
        assert sum(job.tokens for job in taken) <= tokens and len(taken) <= most
        states = {job: self.queue.run(script("check", job.name))[0][0] for job in late if job.place == "waiting"}
        dropped_late = [job for job, state in states.items() if state == b"expired"]
        for job in dropped_late:
            self.model.end(job, "expired")
        from_order = [job for job in taken if job in self.model.order]
        assert from_order == self.model.order[: len(from_order)], "somebody was overtaken"
        assert not self.model.waits_in_vain(taken, held, tokens, most - len(dropped_late))
        assert not any(job.is_suspect for job in taken) or not held and all(job.is_suspect for job in taken)
        for job, row in zip(taken, deliveries, strict=True):
            job.place, job.worker, job.tickets[worker] = "running", worker, row[8]
        self.model.order = [job for job in self.model.order if job not in taken]
        if given_up := [job for job, row in zip(taken, deliveries, strict=True) if row[1] > MAX_ATTEMPTS]:
            self.finish(worker, given_up, FinishReason.ERROR)
        self.drop(worker, [self.model.jobs[name] for name in dropped])

    def drop(self, worker: str, jobs: list[Job]) -> None:
        """The worker has heard what was called off."""
        mine = [job for job in jobs if job.worker == worker and job.called_off]
        self.send_ends(worker, mine, FinishReason.CANCELLED)
        for job in mine:
            self.model.end(job, job.called_off)

    def send_ends(self, worker: str, jobs: list[Job], reason: FinishReason) -> list[bytes]:
        """Return the payload of each answer."""
        error = "it broke" if reason is FinishReason.ERROR else None
        ends = [formats.finish_arguments(Completion(job.name, reason, (7, 1), error=error)) for job in jobs]
        words = [(*end, job.tickets.get(worker, b"")) for end, job in zip(ends, jobs, strict=True)]
        if words:
            self.num_duplicates += self.queue.run(script("finish", worker, *chain.from_iterable(words)))
        return [end[2] for end in ends]

    def finish(self, worker: str, jobs: list[Job], reason: FinishReason) -> None:
        place = "failed" if reason is FinishReason.ERROR else "done"
        for job, answer in zip(jobs, self.send_ends(worker, jobs, reason), strict=True):
            self.model.end(job, place, answer)

    @rule(
        data=st.data(), worker=st.sampled_from(WORKERS), is_reply_lost=st.booleans(),
        reason=st.sampled_from([FinishReason.STOP, FinishReason.LENGTH, FinishReason.ERROR]),
    )  # fmt: skip
    def answer(self, data: st.DataObject, worker: str, is_reply_lost: bool, reason: FinishReason) -> None:
        self.queue.now_s += 0.001
        names = [job.name for job in self.model.held_by(worker)]
        some = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1)) if names else []
        jobs, before = [self.model.jobs[name] for name in some], self.num_duplicates
        self.finish(worker, jobs, reason)
        if is_reply_lost:  # and sent again
            self.send_ends(worker, jobs, reason)
        assert self.num_duplicates == before

    @precondition(lambda self: any(job.tickets for job in self.model.jobs.values()))
    @rule(data=st.data())
    def answer_late(self, data: st.DataObject) -> None:
        """A worker that had lost its lease goes on: what others run, or have answered, is not its own any more."""
        self.queue.now_s += 0.001
        pairs = [(worker, job.name) for job in self.model.jobs.values() for worker in job.tickets]
        worker, name = data.draw(st.sampled_from(pairs))
        if (job := self.model.jobs[name]).worker != worker and job.place != "removed":
            (own,) = self.send_ends(worker, [job], FinishReason.LENGTH)
            assert own != job.answer or job.place == "done"

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data(), channel=st.sampled_from([*CHANNELS, *CHANNELS, ""]))
    def cancel(self, data: st.DataObject, channel: str) -> None:
        """A client leaves; without a channel it is called off for all."""
        self.queue.now_s += 0.001
        job = self.model.jobs[data.draw(st.sampled_from(list(self.model.jobs)))]
        why = FinishReason.CANCELLED if job.deadline_s > self.queue.now_s else FinishReason.EXPIRED
        self.queue.cancel(job.name, why, channel)
        if not job.is_open:
            return
        if channel:
            job.waiters = [other for other in job.waiters if other != channel]
        if channel and job.waiters:
            return
        how = "cancelled" if why is FinishReason.CANCELLED else "expired"
        if job.place == "waiting":
            self.model.end(job, how)
        else:
            job.called_off = how

    @rule(worker=st.sampled_from(WORKERS), how=st.sampled_from(["die", "leave", "lose replies"]))
    def lose_worker(self, worker: str, how: str) -> None:
        self.queue.now_s += 0.001
        held = self.model.held_by(worker)
        if how == "die":
            self.queue.die(worker)
            for job in held:
                job.is_suspect = True
        elif how == "leave":
            self.queue.run(script("leave", worker))
        else:  # those of its last DRAINs: it holds nothing, and says so
            self.queue.resync(worker)
        self.model.come_back(held)

    @precondition(lambda self: self.model.open())
    @rule(data=st.data(), is_noticed_first=st.booleans())
    def delete_by_hand(self, data: st.DataObject, is_noticed_first: bool) -> None:
        """As RQ's tools do."""
        self.queue.now_s += 0.001
        job = self.model.jobs[data.draw(st.sampled_from([job.name for job in self.model.open()]))]
        self.queue.client.delete(f"rq:job:{job.name}")
        for name in ("rq:queue:correct", "rq:queue:correct-async"):
            self.queue.client.lrem(name, 1, job.name)
        if is_noticed_first:
            self.queue.beat_of_another()
        if job.place == "running":  # its worker notices it
            self.send_ends(job.worker, [job], FinishReason.STOP)
        self.model.end(job, "removed")
        self.queue.beat_of_another()

    @rule(seconds=st.sampled_from([0.5, 1.0]))
    def pass_time(self, seconds: float) -> None:
        self.queue.now_s += seconds
        self.queue.beat_of_another()

    # What must hold.

    @invariant()
    def each_job_is_where_the_model_says(self) -> None:
        names = list(self.model.jobs)
        found = self.queue.run(script("check", *names)) if names else []
        for job, (state, payload) in zip(self.model.jobs.values(), found, strict=True):
            assert state == STATES[job.place], job
            assert payload == job.answer, job

    @invariant()
    def the_queue_has_its_order(self) -> None:
        assert self.queue.client.lrange("rq:queue:correct", 0, -1) == [job.name.encode() for job in self.model.order]

    @invariant()
    def the_counts_balance(self) -> None:
        seen, some = self.queue.observe(), self.model.open()
        assert seen.num_running == len([job for job in some if job.place == "running"])
        assert seen.num_waiting == len(some) - seen.num_running
        assert seen.reserved_tokens == sum(job.tokens for job in some)
        assert len(some) <= LIMITS.max_requests and seen.reserved_tokens <= LIMITS.max_tokens
        assert seen.counts["duplicates"] == self.num_duplicates

    def teardown(self) -> None:
        """A worker without faults ends all that is left; then everybody has heard everything once."""
        try:
            self.end_all()
        finally:
            self.published.close()

    def end_all(self) -> None:
        self.each_job_is_where_the_model_says()
        for worker in WORKERS:
            held = self.model.held_by(worker)
            self.queue.run(script("leave", worker))
            self.model.come_back(held)
            self.the_queue_has_its_order()
        for _ in range(10 * len(self.model.jobs)):
            if not self.model.open():
                break
            self.drain("last", 100_000, 100)
            self.finish("last", self.model.held_by("last"), FinishReason.STOP)
        self.each_job_is_where_the_model_says()
        seen = self.queue.observe()
        assert (seen.num_waiting, seen.num_running, seen.reserved_tokens) == (0, 0, 0)
        if not seen.counts.get("removed"):  # when those were accepted is gone with them
            assert seen.now.area_s == pytest.approx(
                seen.now.stay_s, abs=1e-5 * (len(self.model.jobs) + 1)
            )  # Little's law
        heard = Counter(self.published.lines())
        assert not self.model.owed - heard and not (heard - self.model.owed).keys() - self.model.unwanted


def run(client: Redis, num_examples: int) -> None:
    run_state_machine_as_test(lambda: QueueMachine(client), settings=settings(STEPS, max_examples=num_examples))


def test_whatever_happens_each_job_is_in_one_place_and_each_client_hears_one_end(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        run(client, 100)


def test_fakeredis_moves_jobs_as_a_redis_does() -> None:
    with fakeredis.FakeRedis() as client:
        run(client, 20)
