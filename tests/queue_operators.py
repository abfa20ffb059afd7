"""The steps that operators take in the state machine of the queue, and the time that passes."""

from __future__ import annotations

from hypothesis import strategies as st

from scheduler.messages import FinishReason
from tests.queue_machine import ClientsOfQueue, step
from tests.queue_model import STATUSES, Job
from worker.queue.connection import script
from worker.queue.protocol import KEPT_TTL_S

LINES = {"": "rq:queue:correct", "async": "rq:queue:correct-async", "read": "miniserve:decode"}
LONGEST_S = 500.0  # of a run, half of a lease


class OperatorsOfQueue(ClientsOfQueue):
    """With our commands, and with tools of RQ's."""

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
            self.model.put_back(job, num_deaths=1)  # it may have killed its workers

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
    )
    def use_tools_of_rq(self, data: st.DataObject, how: str, is_noticed: bool) -> None:
        """They write without our scripts. `is_noticed`: by a beat, before the worker that runs the job ends it."""
        self.queue.now_s += 0.001
        client, in_line = self.queue.client, [*self.model.order, *self.model.asyncs]
        running = [job for job in self.model.open() if job.place == "running"]
        dead = [job for job in self.model.jobs.values() if job.place == "failed"]
        some = {"requeue": dead, "fail": in_line + running, "delete": in_line + running}.get(how, in_line)
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
        self.follow_rq(job, how, is_noticed)
        self.beat_of_another()

    def follow_rq(self, job: Job, how: str, is_noticed: bool) -> None:
        if how == "requeue":
            self.model.put_back(job, num_deaths=0)
        elif how == "cancel":
            self.model.end(job, "cancelled")
        elif how == "delete":
            if job.place == "running":  # its worker notices it
                self.send_ends(job.worker, [job], FinishReason.STOP)
            self.model.end(job, "gone")
        elif job.place == "running" and not is_noticed:
            self.finish(job.worker, [job], FinishReason.STOP)
        else:
            self.model.come_back([job])

    @step(
        2,
        when=lambda self: self.queue.now_s < LONGEST_S,
        seconds=st.sampled_from([0.5, 1.0, 70.0]),
        is_full=st.sampled_from([False, False, True]),
    )
    def pass_time(self, seconds: float, is_full: bool) -> None:
        """Meanwhile Redis may run out of memory, or have some again."""
        self.queue.is_full = is_full and self.is_redis
        self.queue.now_s += seconds
        self.beat_of_another()
