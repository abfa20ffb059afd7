"""What LEARN counts: each report once, each answer once, a bounded number of verbs and learners, for 90 days."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from redis import Redis

from worker.queue.connection import Address, Command, RedisConnection, checked
from worker.queue.learners import KEPT_S, MOST_VERBS, Answered, Learners

LEARNER_BYTES = 65536
MEMORY = 2**31


class Replica:
    """One API process, as far as learners know it: it counts, and reports when it is told to."""

    def __init__(self, redis_url: str, max_memory_bytes: int = MEMORY) -> None:
        self.connection = RedisConnection(Address(redis_url))
        self.learners = Learners(self._ask, max_memory_bytes)

    async def _ask(self, command: Command) -> Any:
        return checked(self.connection.ask(command)[0])

    def find(self, learner: str) -> Mapping[str, str]:
        return asyncio.run(self.learners.find(learner))

    def forget(self, learner: str) -> None:
        asyncio.run(self.learners.forget(learner))

    def note(
        self, learner: str, request_id: str, *mistakes: tuple[str, str], is_first: bool = True, client: str = "1"
    ) -> None:
        self.learners.note(Answered(learner, client, request_id, is_first, True, 1, mistakes))

    def report(self, is_lost: bool = False) -> None:
        command = self.learners.command()
        assert command is not None
        (reply,) = self.connection.ask(command)
        assert reply == 0
        if not is_lost:
            self.learners.note_reply(reply)

    def corrections(self, learner: str) -> int:
        return int(self.find(learner).get("corrections", 0))


Start = Callable[..., Replica]


@pytest.fixture
def start(redis_url: str) -> Iterator[Start]:
    replicas: list[Replica] = []

    def start(most_learners: int = MEMORY // LEARNER_BYTES) -> Replica:
        replicas.append(Replica(redis_url, max_memory_bytes=most_learners * LEARNER_BYTES))
        return replicas[-1]

    yield start
    for replica in replicas:
        replica.connection.close()


@pytest.fixture
def replica(start: Start) -> Replica:
    return start()


def counted(client: Redis) -> dict[bytes, int]:
    """How many learners each client holds. The sets of the clients, that of all, and the hashes agree."""
    held = {key.rpartition(b":")[2]: client.zrange(key, 0, -1) for key in client.scan_iter("miniserve:learners:*")}
    names = sorted(name for names in held.values() for name in names)
    assert names == sorted(client.zrange("miniserve:learners", 0, -1))
    assert set(client.scan_iter("miniserve:learner:*")) == {b"miniserve:learner:" + name for name in names}
    return {key: len(names) for key, names in held.items()}


def see(client: Redis, holder: str, **seen_s: float) -> None:
    """As if these learners of a client had been seen last at these times."""
    client.zadd("miniserve:learners", seen_s, xx=True)
    client.zadd(f"miniserve:learners:{holder}", seen_s, xx=True)


def test_a_report_whose_reply_was_lost_is_sent_again_and_counts_once(replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report(is_lost=True)
    replica.note("a", "r2")
    replica.report()
    assert replica.corrections("a") == 1

    replica.report()

    assert replica.corrections("a") == 2
    assert replica.learners.command() is None


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_answer_counts_once_and_a_plain_one_with_its_post_alone(
    client: Redis, start: Start, is_kept: bool, is_first: bool
) -> None:
    if is_kept:
        client.hset("miniserve:request:r1", "document", "{}")
    one, other = start(), start()
    for replica, first in ((one, is_first), (other, is_first and is_kept)):
        replica.note("a", "r1", ("habit", "go"), is_first=first)
        replica.report()

    assert other.corrections("a") == (is_kept or is_first)


def test_who_was_forgotten_is_not_brought_back_by_what_was_under_way(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report()
    replica.note("a", "r2")

    replica.forget("a")
    replica.report()

    assert replica.find("a") == {}
    assert list(client.keys("*:a")) == [b"miniserve:forgotten:a"]
    assert client.ttl("miniserve:forgotten:a") <= 2
    assert counted(client) == {}


def test_verbs_of_a_learner_are_bounded_and_reasons_are_counted_on(replica: Replica) -> None:
    for number in range(MOST_VERBS + 10):
        replica.note("a", f"r{number}", ("habit", f"verb{number}"), ("habit", ""))
    replica.report()

    found = replica.find("a")
    assert sum(name.startswith("v:") for name in found) == MOST_VERBS
    assert found["verbs"] == str(MOST_VERBS)
    assert found["n:habit"] == str(2 * (MOST_VERBS + 10)) and replica.corrections("b") == 0


def test_a_learner_is_kept_for_ninety_days_from_the_last_answer(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1")
    replica.note("gone", "r2", client="2")
    replica.report()
    assert KEPT_S - 60 < client.ttl("miniserve:learner:a") <= KEPT_S == 90 * 86_400
    see(client, "2", gone=1)
    replica.note("a", "r3")
    replica.report()

    assert client.zrange("miniserve:learners", 0, -1) == [b"a"]
    assert 0 < client.ttl("miniserve:learners:2") <= KEPT_S


@pytest.mark.parametrize("holders", ["1111", "1234"], ids=["of one client", "one of each client"])
def test_the_learner_unseen_for_longest_makes_room(client: Redis, start: Start, holders: str) -> None:
    replica = start(most_learners=3)
    for learner, holder in zip("abc", holders, strict=False):
        replica.note(learner, learner, client=holder)
    replica.report()
    now, _ = client.time()
    for learner, holder, ago_s in zip("abc", holders, (20, 30, 10), strict=False):
        see(client, holder, **{learner: now - ago_s})

    replica.note("d", "d", client=holders[-1])
    replica.report()

    assert [replica.corrections(learner) for learner in "abcd"] == [1, 0, 1, 1]
    assert sum(counted(client).values()) == 3


def test_a_client_that_is_alone_may_use_all_of_the_room_and_gives_it_up_to_others(client: Redis, start: Start) -> None:
    replica = start(most_learners=12)
    for name, num in (("1", 600), ("2", 3), ("3", 9)):
        for number in range(num):
            replica.note(f"{name}-{number}", f"{name}-r{number}", client=name)
        while replica.learners.command() is not None:
            replica.report()

    held = counted(client)
    assert sum(held.values()) == 12 and held[b"2"] == 3 and abs(held[b"1"] - held[b"3"]) <= 1


def test_a_learner_stays_that_of_the_client_who_brought_it_first(client: Redis, replica: Replica) -> None:
    for holder in ("1", "2"):
        replica.note("a", f"r{holder}", client=holder)
        replica.report()

    assert counted(client) == {b"1": 1}
    assert replica.corrections("a") == 2
    replica.forget("a")
    assert counted(client) == {}


def test_what_redis_refuses_is_said_once_and_sent_again(
    client: Redis, replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    replica.note("a", "r1", ("habit", "go"))

    client.config_set("maxmemory", "1")
    for _ in range(3):
        (reply,) = replica.connection.ask(replica.learners.command())
        replica.learners.note_reply(reply)
    client.config_set("maxmemory", "0")
    replica.report()

    assert replica.corrections("a") == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "learners" in caplog.text and "habit" not in caplog.text
