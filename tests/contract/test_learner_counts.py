"""What LEARN counts: each report once, each answer once, a bounded number of verbs and learners, for 90 days."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from worker.mailbox.connection import RedisConnection
from worker.mailbox.learners import KEPT_S, MOST_VERBS, Answered, RedisLearners

MEMORY = 2**31


@pytest.fixture(params=["fakeredis", "redis"])
def client(request: pytest.FixtureRequest) -> Redis:
    if request.param == "fakeredis":
        return fakeredis.FakeRedis(protocol=2)
    return Redis.from_url(request.getfixturevalue("redis_url"), protocol=2)


class Replica:
    """One API process, as far as learners know it."""

    def __init__(self, client: Redis, max_memory_bytes: int = MEMORY) -> None:
        self.connection = RedisConnection(client)
        self.learners = RedisLearners(self.connection.ask_one, max_memory_bytes)

    def note(self, learner: str, request_id: str, *mistakes: tuple[str, str], is_first: bool = True) -> None:
        self.learners.note(Answered(learner, request_id, is_first, True, 1, mistakes))

    def report(self, is_lost: bool = False) -> None:
        command = self.learners.command()
        assert command is not None
        (reply,) = self.connection.ask(command)
        assert reply == 0
        if not is_lost:
            self.learners.note_reply(reply)

    def corrections(self, learner: str) -> int:
        return int(self.learners.find(learner).get("corrections", 0))


@pytest.fixture
def replica(client: Redis) -> Iterator[Replica]:
    replica = Replica(client)
    yield replica
    replica.connection.close()


def test_all_replicas_add_to_one_count(client: Redis, replica: Replica) -> None:
    other = Replica(client)
    replica.note("a", "r1", ("habit", "go"), ("habit", ""))
    other.note("a", "r2", ("habit", "go"))
    other.note("b", "r3")

    replica.report()
    other.report()

    found = replica.learners.find("a")
    assert {name: found[name] for name in ("corrections", "n:habit", "v:habit:go", "verbs")} == {
        "corrections": "2", "n:habit": "3", "v:habit:go": "2", "verbs": "1",
    }  # fmt: skip
    assert replica.corrections("b") == 1 and replica.corrections("c") == 0


def test_a_report_whose_reply_was_lost_is_sent_again_and_counts_once(replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report(is_lost=True)
    replica.note("a", "r2")
    replica.report()
    assert replica.corrections("a") == 1

    replica.report()

    assert replica.corrections("a") == 2
    assert replica.learners.command() is None


@pytest.mark.parametrize("is_first", [True, False])
def test_a_kept_answer_counts_once_whoever_gives_it_first(client: Redis, replica: Replica, is_first: bool) -> None:
    client.hset("miniserve:request:r1", "document", "{}")
    for one in (replica, Replica(client)):
        one.note("a", "r1", ("habit", "go"), is_first=is_first)
        one.report()

    assert replica.corrections("a") == 1


def test_a_plain_answer_that_is_fetched_again_does_not_count(replica: Replica) -> None:
    replica.note("a", "r1")
    replica.note("a", "r1", is_first=False)
    replica.report()

    assert replica.corrections("a") == 1


def test_who_was_forgotten_is_not_brought_back_by_what_was_under_way(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report()
    replica.note("a", "r2")

    replica.learners.forget("a")
    replica.report()

    assert replica.learners.find("a") == {}
    assert list(client.keys("*:a")) == [b"miniserve:forgotten:a"]
    assert client.ttl("miniserve:forgotten:a") <= 2
    assert client.zscore("miniserve:learners", "a") is None


def test_verbs_of_a_learner_are_bounded_and_reasons_are_counted_on(replica: Replica) -> None:
    for number in range(MOST_VERBS + 10):
        replica.note("a", f"r{number}", ("habit", f"verb{number}"))
    replica.report()

    found = replica.learners.find("a")
    assert sum(name.startswith("v:") for name in found) == MOST_VERBS
    assert found["n:habit"] == str(MOST_VERBS + 10)


def test_the_learner_unseen_for_longest_makes_room(client: Redis) -> None:
    replica = Replica(client, max_memory_bytes=3 * 65536)
    for learner in ("one", "two", "three"):
        replica.note(learner, learner)
    replica.report()
    now, _ = client.time()
    client.zadd("miniserve:learners", {"one": now - 20, "two": now - 30, "three": now - 10}, xx=True)

    replica.note("four", "four")
    replica.report()

    assert [replica.corrections(learner) for learner in ("one", "two", "three", "four")] == [1, 0, 1, 1]
    replica.connection.close()


def test_a_learner_is_kept_for_ninety_days_from_the_last_answer(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report()

    assert KEPT_S - 60 < client.ttl("miniserve:learner:a") <= KEPT_S == 90 * 86_400
    client.zadd("miniserve:learners", {"gone": 1})
    replica.note("a", "r2")
    replica.report()
    assert client.zscore("miniserve:learners", "gone") is None


def test_no_hostile_value_stops_a_report(redis_url: str) -> None:
    client = Redis.from_url(redis_url, protocol=2)  # fakeredis does not give a script its errors
    replica = Replica(client)
    client.set("miniserve:request:r1", "not a hash")
    client.hset("miniserve:learner:b", mapping={"verbs": "many", "corrections": "x", "n:habit": "y"})
    client.set("miniserve:learner:c", "not a hash")
    for learner in "abcd":
        replica.note(learner, f"of-{learner}", ("habit", "go"))
    replica.note("e", "r1")

    replica.report()

    assert [replica.corrections(learner) for learner in "acde"] == [1, 1, 1, 0]
    replica.connection.close()
