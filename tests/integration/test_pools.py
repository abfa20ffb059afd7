"""Prefill and decode workers on a real Redis: what of a prompt goes from one to the other, and when none is read."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from redis import Redis

from scheduler.messages import NO_CAPACITY, Delivery, Inbox
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    SteppedWorkerMailbox,
    a_request,
    an_answer,
    answer,
    eventually,
    take,
)
from worker.pools.decode import DecodeEnd
from worker.pools.prefill import MOST_READ, PrefillEnd, ReadPrompt
from worker.queue.protocol import MailboxDown, WorkerReport


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
        # Prefill workers take nothing where none is there.
        self.client.hset("miniserve:rates", "stand-in", "0.0 decode")

    def prefill(self) -> PrefillEnd:
        return self._prefill.worker(lambda: WorkerReport(role="prefill"))

    def decode(self) -> DecodeEnd:
        return self._decode.worker(lambda: WorkerReport(role="decode"))

    def close(self) -> None:
        self._decode.close()
        self._prefill.close()
        self.client.close()


def hand_over(worker: PrefillEnd, *names: str, handoff: bytes = b"state of ") -> Inbox:
    read = [ReadPrompt(name, (7,), handoff + name.encode()) for name in names]
    return worker.exchange((), NO_CAPACITY, progress=read)


def handoffs(deliveries: tuple[Delivery, ...]) -> dict[str, bytes]:
    return {one.request.request_id: one.handed for one in deliveries}


@pytest.fixture
def pools(redis_url: str) -> Iterator[Pools]:
    found = Pools(redis_url)
    yield found
    found.close()


@pytest.mark.parametrize("why", ["gone", "of another type", "Redis was half full"])
def test_a_request_whose_bytes_cannot_be_had_comes_without_them_and_others_with_theirs(pools: Pools, why: str) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    for name in ("a", "b"):
        api.submit(a_request(name))
    assert take(reader) == ["a", "b"]
    hand_over(reader, "b")
    if why == "Redis was half full":
        memory = int(pools.client.info("memory")["used_memory"] * 1.5)
        pools.client.config_set("maxmemory", memory)
        eventually(lambda: pools.client.hget("miniserve:counts", "max_memory") == str(memory))
    hand_over(reader, "a")
    pools.client.config_set("maxmemory", 0)
    if why != "Redis was half full":
        pools.client.delete("miniserve:handoff:a")
    if why == "of another type":
        pools.client.lpush("miniserve:handoff:a", "junk")

    taken = writer.exchange((), AMPLE)

    assert handoffs(taken.deliveries) == {"a": b"", "b": b"state of b"}


def test_what_was_read_while_redis_was_away_is_read_again(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    ticket = api.submit(a_request("a"))
    assert take(reader) == ["a"]
    reader._fail()
    reader._retry_s = time.monotonic() + 0.05

    with pytest.raises(MailboxDown):
        hand_over(reader, "a")

    assert eventually(lambda: time.monotonic() > reader._retry_s and take(reader)) == ["a"]
    hand_over(reader, "a")
    writer = pools.decode()
    assert handoffs(writer.exchange((), AMPLE).deliveries) == {"a": b"state of a"}
    answer(writer, "a")
    assert api.wait(ticket) == an_answer("a")


def test_no_prompt_is_read_while_many_wait_for_decode_workers(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    names = [f"r{number}" for number in range(MOST_READ)]
    for name in names:
        api.submit(a_request(name))
    assert eventually(lambda: (take(reader), len(reader._held) == MOST_READ)[1])
    hand_over(reader, *names)
    api.submit(a_request("more"))

    assert [take(reader), take(reader)] == [[], []]

    assert take(writer) == names
    assert eventually(lambda: take(reader)) == ["more"]


def test_a_prefill_worker_takes_nothing_while_no_decode_worker_is_there(pools: Pools) -> None:
    pools.client.delete("miniserve:rates")
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))

    assert take(reader) == []

    pools.decode()
    reader._heartbeat._register_at_s = 0.0  # with the next beat
    eventually(lambda: take(reader) == ["a"])


def test_the_append_only_file_gets_no_bytes_of_what_is_on_its_way_and_redis_keeps_none(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    before = pools.client.info("persistence")["aof_current_size"]

    hand_over(reader, "a", handoff=bytes(1 << 20))
    life_ms = pools.client.pttl("miniserve:handoff:a")
    taken = writer.exchange((), AMPLE)
    answer(writer, "a")

    assert 0 < life_ms <= 10_000
    assert pools.client.keys("miniserve:hand*") == []
    assert len(handoffs(taken.deliveries)["a"]) > 1 << 20
    assert pools.client.info("persistence")["aof_current_size"] - before < 1 << 16
