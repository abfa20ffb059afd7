"""Mailboxes of prefill and decode workers for tests: each exchange waits for its replies."""

from __future__ import annotations

from collections.abc import Callable

from redis import Redis

from scheduler.messages import NO_CAPACITY, Delivery, Inbox
from tests.mailbox_house import RedisHouse, SteppedWorkerMailbox, SubmittingMailbox, a_request, take
from worker.pools.decode import DECODE_QUEUE, DecodeEnd
from worker.pools.prefill import PrefillEnd, ReadPrompt
from worker.queue.protocol import Submission, WorkerReport


class SteppedPrefillEnd(SteppedWorkerMailbox, PrefillEnd):
    """Each exchange waits for its replies."""


class SteppedDecodeEnd(SteppedWorkerMailbox, DecodeEnd):
    """As that."""


class Pools:
    """Mailboxes of both roles, and API ends, over one Redis."""

    def __init__(self, redis_url: str) -> None:
        self.client = Redis.from_url(redis_url, decode_responses=True)
        self._prefill = RedisHouse(redis_url, SteppedPrefillEnd)
        self._decode = RedisHouse(redis_url, SteppedDecodeEnd)
        self.api = self._prefill.api
        self.client.hset(
            "miniserve:rates", "stand-in", "0.0 decode"
        )  # prefill workers take nothing where none is there

    def prefill(self, rate: float = 0.0, **options: Callable[[], bool]) -> PrefillEnd:
        return self._prefill.worker(lambda: a_report("prefill", rate), **options)

    def decode(self, rate: float = 0.0, **options: Callable[[], bool]) -> DecodeEnd:
        return self._decode.worker(lambda: a_report("decode", rate), **options)

    def kill(self, worker: PrefillEnd | DecodeEnd) -> None:
        (self._prefill if isinstance(worker, PrefillEnd) else self._decode).kill(worker)

    def close(self) -> None:
        self._decode.close()
        self._prefill.close()
        self.client.close()

    def places(self) -> dict[str, list[str]]:
        """Where ids are."""
        return {
            "queue": self.client.lrange("rq:queue:correct", 0, -1),
            "read": self.client.lrange(DECODE_QUEUE, 0, -1),
            "wip": sorted(self.client.zrange("rq:wip:correct", 0, -1)),
        }


def a_report(role: str, rate: float) -> WorkerReport:
    return WorkerReport(service_rate_tokens_per_s=rate, role=role)


def hand_over(worker: PrefillEnd, *names: str, handoff: bytes = b"state of ") -> Inbox:
    read = [ReadPrompt(name, (7,), handoff + name.encode()) for name in names]
    return worker.exchange((), NO_CAPACITY, progress=read)


def handoffs(deliveries: tuple[Delivery, ...]) -> dict[str, bytes]:
    return {one.request.request_id: one.handed for one in deliveries}


def a_request_that_was_read(pools: Pools, name: str = "a") -> tuple[SubmittingMailbox, Submission, PrefillEnd]:
    api, worker = pools.api(), pools.prefill()
    ticket = api.submit(a_request(name))
    assert take(worker) == [name]
    hand_over(worker, name)
    return api, ticket, worker
