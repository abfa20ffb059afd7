"""The steps that operators take in the state machine of the queue, time that passes, and what must always hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from scheduler.messages import FinishReason
from tests.queue_machine import ClientsOfQueue, step
from tests.queue_model import STATUSES, Job
from tests.recorded_requests import ASKED
from worker.queue.connection import script
from worker.queue.protocol import KEPT_TTL_S, READY_WITHIN_S
from worker.queue.status_client import status_of

LINES = {"": "rq:queue:correct", "async": "rq:queue:correct-async", "read": "miniserve:decode"}
LONGEST_S = 500.0  # of a run, half of a lease


class OperatorsOfQueue(ClientsOfQueue):
    """With our commands, and with tools of RQ's."""

    area_s = seen_s = num_seen = 0.0

    @initialize(later_s=st.integers(0, 28_000 * 86_400))
    def begin(self, later_s: int) -> None:
        """Until 2100, which is no leap year."""
        self.queue.start_s += later_s

    def beat_of_another(self) -> None:
        self.queue.beat_of_another()
        self.model.beat(self.queue.now_s)

    @step(1, when=lambda self: self.model.jobs, data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        self.queue.now_s += 0.001
        job = self.model.jobs[data.draw(st.sampled_from(self.dead_letters()))]
        told = b"revived" if job.place == "failed" else STATUSES[job.place]
        assert self.queue.run(script("revive", job.name)) == told
        if told == b"revived":
            job.ttl_s = KEPT_TTL_S
            self.model.put_back(job, 1, self.queue.now_s)  # it may have killed its workers

    @step(1, when=lambda self: self.model.jobs, data=st.data())
    def put_away(self, data: st.DataObject) -> None:
        self.queue.now_s += 0.001
        job = self.model.jobs[data.draw(st.sampled_from(self.dead_letters()))]
        told = b"dropped" if job.place == "failed" else STATUSES[job.place]
        assert self.queue.run(script("drop", job.name)) == told
        if told == b"dropped":
            job.place, job.answer = "gone", b""
            self.model.records.pop(job.record, None)

    def dead_letters(self) -> list[str]:
        """And others, where there are none."""
        return [job.name for job in self.model.jobs.values() if job.place == "failed"] or list(self.model.jobs)

    @step(
        2,
        when=lambda self: self.model.jobs,
        data=st.data(),
        how=st.sampled_from(["fail", "stop", "cancel", "requeue", "delete"]),
        is_noticed=st.booleans(),
        is_handed_over=st.booleans(),
    )
    def use_tools_of_rq(self, data: st.DataObject, how: str, is_noticed: bool, is_handed_over: bool) -> None:
        """They write without our scripts. `is_noticed`: by a beat, before its worker is done with it."""
        self.queue.now_s += 0.001
        client, in_line, read = self.queue.client, [*self.model.order, *self.model.asyncs], self.model.read
        running = [job for job in self.model.open() if job.place == "running"]
        dead = [job for job in self.model.jobs.values() if job.place == "failed"]
        some = {"requeue": dead, "fail": in_line + running, "delete": in_line + running + read}.get(how, in_line)
        if not some:
            return
        job = data.draw(st.sampled_from(some))
        key = f"rq:job:{job.name}"
        for line in LINES.values():
            client.lrem(line, 1, job.name)
        if how == "delete":
            client.delete(key)
        elif how == "requeue":
            client.zrem("rq:failed:correct", job.name)
            client.hset(key, "status", "queued")
            client.rpush(LINES[""], job.name)
        else:
            client.zrem("rq:wip:correct", f"{job.name}:{job.worker}")
            client.hset(key, "status", {"fail": "failed", "stop": "stopped", "cancel": "canceled"}[how])
            client.zadd("rq:canceled:correct" if how == "cancel" else "rq:failed:correct", {job.name: 4e9})
        is_noticed = is_noticed or job.place != "running"
        if is_noticed:
            self.beat_of_another()
        self.follow_rq(job, how, is_noticed, is_handed_over)
        self.beat_of_another()

    def follow_rq(self, job: Job, how: str, is_noticed: bool, is_handed_over: bool) -> None:
        if how == "requeue":
            self.model.put_back(job, 0, self.queue.now_s)
        elif how == "cancel":
            self.model.end(job, "cancelled")
        elif how == "delete":
            if job.place == "running" and is_handed_over and self.is_redis:  # its worker notices it
                self.queue.run(script("hand_over", job.worker, 60_000, job.name, b"keys and values"))
            elif job.place == "running":
                self.send_ends(job.worker, [job], FinishReason.STOP)
            self.model.end(job, "gone")
        elif job.place == "running" and not is_noticed:
            self.finish(job.worker, [job], FinishReason.STOP)
        else:
            self.model.come_back([job])

    @step(
        2,
        when=lambda self: self.queue.now_s < LONGEST_S,
        seconds=st.sampled_from([0.7, 1.0, 70.0]),
        is_full=st.sampled_from([False, False, True]),
    )
    def pass_time(self, seconds: float, is_full: bool) -> None:
        """Meanwhile Redis may run out of memory, or have some again."""
        self.queue.is_full = is_full and self.is_redis
        self.queue.now_s += seconds
        self.beat_of_another()

    # What must hold.

    @invariant()
    def each_job_is_where_the_model_says(self) -> None:
        names = list(self.model.jobs)
        found = self.queue.run(script("check", *names)) if names else []
        for job, (state, payload) in zip(self.model.jobs.values(), found, strict=True):
            assert state == self.model.state(job), job
            assert payload == job.answer, job

    @invariant()
    def each_line_has_its_order(self) -> None:
        lines = {"rq:queue:correct": self.model.order, "rq:queue:correct-async": self.model.asyncs,
                 "miniserve:decode": self.model.read}  # fmt: skip
        lines |= {f"miniserve:claim:{worker}": jobs for worker, jobs in self.model.claims.items()}
        with self.queue.client.pipeline(transaction=False) as pipeline:
            for key in lines:
                pipeline.lrange(key, 0, -1)
            found = dict(zip(lines, pipeline.execute(), strict=True))
        assert found == {key: [job.name.encode() for job in jobs] for key, jobs in lines.items()}

    @invariant()
    def the_counts_balance(self) -> None:
        seen, some = self.queue.observe(), self.model.open()
        self.area_s += (self.queue.now_s - self.seen_s) * self.num_seen  # Little's law
        self.seen_s, self.num_seen = self.queue.now_s, len(some)
        assert seen.now.area_s == pytest.approx(self.area_s, abs=1e-3)
        assert seen.num_running == len([job for job in some if job.place == "running"])
        assert seen.num_waiting == len(some) - seen.num_running
        assert seen.reserved_tokens == sum(job.tokens for job in some)
        assert {name: seen.counts.get(name, 0) for name in self.model.counts} == self.model.counts
        assert seen.dead_letters == len([job for job in self.model.jobs.values() if job.place == "failed"])
        counts, status = seen.counts, status_of(self.queue.run(script("status", READY_WITHIN_S)))
        num_failed = sum(counts.get(name, 0) for name in ("failed", "expired")) - counts.get("expired_own", 0)
        assert status.num_failed == seen.now.failed == num_failed
        assert status.queue_depth == len(self.model.order + self.model.asyncs + self.model.read)
        assert status.reserved_requests == len(some)
        live = self.model.live(self.queue.now_s)
        assert {worker.name for worker in seen.workers} == live
        assert status.live_workers == (len(live) if "one" in live or live == {"two", "writer"} else 0)
        assert counts.get("service_rate", 0) == int(self.model.rate)

    @invariant()
    def a_request_that_is_kept_is_found(self) -> None:
        for name, record in list(self.model.records.items())[-1:]:
            document, maker, _, job_ids, states = self.queue.run(script("find", name))
            assert (json.loads(document), maker) == (ASKED, b"maker")
            assert [each.decode() for each in job_ids] == record.names
            jobs = [self.model.jobs[each] for each in record.names]
            assert states == [[self.model.state(job), job.answer] for job in jobs]
            is_open = any(job.is_open for job in jobs)
            assert not is_open or self.queue.client.ttl(f"miniserve:request:{name}") > KEPT_TTL_S
