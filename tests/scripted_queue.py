"""The queue's scripts on a real Redis, with a clock that only the test moves: times come out to the microsecond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from redis import Redis

from scheduler.capacity.observed import Observed
from scheduler.messages import Completion, CorrectionRequest, FinishReason, FreeCapacity
from tests.mailbox_house import AMPLE, a_bare_submission, a_request
from worker.queue import formats
from worker.queue.api_link import enqueue_command
from worker.queue.connection import Command, script, script_sources
from worker.queue.heartbeat import Reporter
from worker.queue.protocol import READY_WITHIN_S, MailboxLimits, Submission
from worker.queue.redis_observer import observed_of

START_S = 1_700_000_000
_LEASE_S = 1000  # here nobody's runs out by itself
_EPOCH = 1
_CLOCK = "test:clock"
_ENDS = ("done", "failed", "cancelled", "expired", "removed")


class ScriptedQueue:
    """Commands by hand; `now_s` counts from the start of the test."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.start_s, self.now_s = START_S, 0.0
        self.is_full = False  # a Redis without memory
        self.limits = MailboxLimits()
        self.tickets: dict[str, bytes] = {}  # of what was delivered
        with client.pipeline(transaction=False) as pipeline:
            for source in script_sources().values():
                pipeline.script_load(_on_our_clock(source))
            digests = pipeline.execute()
        self._digests = {script(name)[1]: each for name, each in zip(script_sources(), digests, strict=True)}

    @property
    def micros(self) -> int:
        return round((self.start_s + self.now_s) * 1_000_000)

    def run(self, command: Command) -> Any:
        _, digest, _, *arguments = command
        micros = self.micros
        with self.client.pipeline(transaction=False) as pipeline:
            pipeline.mset({f"{_CLOCK}:s": micros // 1_000_000, f"{_CLOCK}:us": micros % 1_000_000})
            if self.is_full:
                pipeline.config_set("maxmemory", 1)
            pipeline.evalsha(self._digests[digest], 0, *arguments)
            if self.is_full:
                pipeline.config_set("maxmemory", 0)
            reply = pipeline.execute(raise_on_error=False)[2 if self.is_full else 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def send(self, wanted: Sequence[Submission], channel: str = "api") -> Any:
        packed = [formats.encode_submission(one, self.limits) for one in wanted]
        return self.run(enqueue_command(channel, self.limits, packed))

    def accept(self, *request_ids: str, within_s: float | None = None, channel: str = "api") -> str:
        return self.enqueue([a_request(request_id) for request_id in request_ids], within_s=within_s, channel=channel)

    def enqueue(
        self,
        requests: Sequence[CorrectionRequest],
        record: Submission | None = None,
        within_s: float | None = None,
        channel: str = "api",
    ) -> str:
        wanted = a_bare_submission(requests, within_s)
        if record is not None:
            wanted = replace(record, requests=tuple(requests), within_s=within_s)
        (reply,) = self.send([wanted], channel)
        return reply[0].decode()

    def beat(self, worker: str, num_held: int = 0, rate: str = "0.0", **facts: float) -> None:
        words = [word for fact in facts.items() for word in fact]
        self.run(script("beat", worker, _LEASE_S, "0.0", num_held, rate, *words))

    def drain(self, worker: str, room: FreeCapacity = AMPLE, num_held: int = 0, service_s: float = 0.0) -> list[str]:
        """The ids that it delivers."""
        return [row[0].decode() for row in self.deliveries(worker, room, num_held, service_s=service_s)[0]]

    def deliveries(
        self, worker: str, room: FreeCapacity, num_held: int, num_others: int = 0, service_s: float = 0.0,
        more_async: int = 1, line: str = "rq:queue:correct",
    ) -> tuple[list[Any], list[str]]:  # fmt: skip
        """What DRAIN delivers, and the ids that the worker is to drop."""
        self.begin(worker)
        about = (room.tokens, room.requests, num_held, num_others, service_s, more_async, line)
        needs_resync, dropped, *_, deliveries = self.run(script("drain", worker, _LEASE_S, _EPOCH, *about))
        assert not needs_resync
        self.tickets |= {row[0].decode(): row[8] for row in deliveries}
        return deliveries, [each.decode() for each in dropped]

    def drain_of_earlier_epoch(self, worker: str) -> Any:
        """It arrives after its connection broke."""
        return self.run(script("drain", worker, _LEASE_S, _EPOCH - 1, 1000, 64, 0, 0, "0", 1))

    def begin(self, worker: str) -> bool:
        """Its first exchange, or the first since others have taken what it had. Return whether it had one before."""
        is_known = self.client.hexists(f"miniserve:inbox:{worker}", "epoch")
        if not is_known:
            self.resync(worker)
        return is_known

    def resync(self, worker: str, *held: str) -> set[str]:
        """The worker says what it holds. Return what it runs no longer."""
        return {each.decode() for each in self.run(script("resync", worker, _LEASE_S, _EPOCH, *held))}

    def claim(self, worker: str) -> bool:
        """As BLMOVE does; the reply is lost, or DRAIN comes later. Return whether it has renewed its lease before."""
        is_known = self.begin(worker)
        self.client.lmove("rq:queue:correct", f"miniserve:claim:{worker}", "LEFT", "RIGHT")
        return not is_known

    def finish(self, worker: str, *request_ids: str, reason: FinishReason = FinishReason.STOP) -> None:
        self.finish_all(worker, [Completion(request_id, reason, (7, 1)) for request_id in request_ids])

    def finish_all(self, worker: str, completions: Sequence[Completion]) -> None:
        words = [(*formats.finish_arguments(one), self.tickets.pop(one.request_id, b"")) for one in completions]
        self.run(script("finish", worker, *chain.from_iterable(words)))

    def cancel(self, request_id: str, why: FinishReason = FinishReason.CANCELLED, channel: str = "api") -> None:
        self.run(script("cancel", channel, why.value, request_id))

    def die(self, worker: str) -> None:
        """Its lease runs out, and somebody else's beat notices."""
        self.beat("reaper")
        self.client.zadd("miniserve:leases", {worker: 1})
        self.beat_of_another()

    def report(self, reporter: Reporter, is_reply_lost: bool = False, **totals: float) -> None:
        self.run(reporter.command({name.replace("__", ":"): value for name, value in totals.items()}))
        if not is_reply_lost:
            reporter.note_reply(0)

    def beat_of_another(self) -> None:
        """Of a worker that comes and goes: it notices what was changed by hand."""
        self.beat("reaper")
        self.run(script("leave", "reaper"))

    def observe(self) -> Observed:
        """Looks at the counts, too."""
        seen = observed_of(self.run(script("observe", READY_WITHIN_S)))
        assert_balanced(seen)
        return seen

    def num_ids_read(self, worker: str, room: FreeCapacity) -> int:
        """Of the queues, by one DRAIN."""
        _, digest, *_ = script("drain")
        self._digests[digest] = self.client.script_load(_COUNTS_READS + _on_our_clock(script_sources()["drain"]))
        self.drain(worker, room)
        return int(self.client.getdel("test:ids") or 0)


class Published:
    """Hears what the scripts publish on some channels."""

    def __init__(self, client: Redis, channels: Sequence[str]) -> None:
        self._heard = client.pubsub()
        self._heard.subscribe(*channels)

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Channel and line; of all until now."""
        self._heard.ping()
        while (message := self._heard.get_message(timeout=1.0)) and message["type"] != "pong":
            if message["type"] == "message":
                yield from ((message["channel"].decode(), line) for line in message["data"].split(b"\n"))

    def close(self) -> None:
        self._heard.close()


_COUNTS_READS = """local real, redis = redis, {}
function redis.call(...) return real.call(...) end
function redis.pcall(command, ...)
  local reply = real.pcall(command, ...)
  if command == 'LRANGE' then real.call('INCRBY', 'test:ids', #reply) end
  return reply
end
"""


def assert_balanced(seen: Observed) -> None:
    """accepted = done + failed + cancelled + expired + removed + waiting + running"""
    ended = sum(seen.counts.get(name, 0) for name in _ENDS)
    assert seen.counts.get("accepted", 0) == ended + seen.num_waiting + seen.num_running
    assert (seen.now.accepted, seen.now.ended) == (seen.counts.get("accepted", 0), ended)


def _on_our_clock(source: str) -> str:
    told = "redis.call('TIME')"
    assert source.count(told) == 1
    return source.replace(told, f"redis.call('MGET', '{_CLOCK}:s', '{_CLOCK}:us')")
