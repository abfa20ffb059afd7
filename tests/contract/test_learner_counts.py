"""What LEARN counts: each report once, each answer once, a bounded number of verbs and learners, for 90 days."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from tests.learner_replica import Replica
from worker.queue.learners import KEPT_S, MOST_VERBS


@pytest.fixture(params=["fakeredis", "redis"])
def client(request: pytest.FixtureRequest) -> Redis:
    if request.param == "fakeredis":
        return fakeredis.FakeRedis(protocol=2)
    return Redis.from_url(request.getfixturevalue("redis_url"), protocol=2)


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

    found = replica.find("a")
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


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_learner_is_read_over_either_protocol_of_redis(redis_url: str, protocol: int) -> None:
    replica = Replica(Redis.from_url(redis_url, protocol=protocol))
    replica.note("a", "r1", ("habit", "go"))
    replica.report()

    assert replica.find("a")["v:habit:go"] == "1"
    replica.connection.close()


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

    replica.forget("a")
    replica.report()

    assert replica.find("a") == {}
    assert list(client.keys("*:a")) == [b"miniserve:forgotten:a"]
    assert client.ttl("miniserve:forgotten:a") <= 2
    assert client.zcard("miniserve:learners") == client.zcard("miniserve:learners:1") == 0


def test_verbs_of_a_learner_are_bounded_and_reasons_are_counted_on(replica: Replica) -> None:
    for number in range(MOST_VERBS + 10):
        replica.note("a", f"r{number}", ("habit", f"verb{number}"))
    replica.report()

    found = replica.find("a")
    assert sum(name.startswith("v:") for name in found) == MOST_VERBS
    assert found["n:habit"] == str(MOST_VERBS + 10)


def test_the_learner_unseen_for_longest_makes_room(client: Redis) -> None:
    replica = Replica(client, max_memory_bytes=3 * 65536)
    for learner in ("one", "two", "three"):
        replica.note(learner, learner)
    replica.report()
    now, _ = client.time()
    _see(client, "1", one=now - 20, two=now - 30, three=now - 10)

    replica.note("four", "four")
    replica.report()

    assert [replica.corrections(learner) for learner in ("one", "two", "three", "four")] == [1, 0, 1, 1]
    replica.connection.close()


def test_a_learner_is_kept_for_ninety_days_from_the_last_answer(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1")
    replica.report()

    assert KEPT_S - 60 < client.ttl("miniserve:learner:a") <= KEPT_S == 90 * 86_400
    replica.note("gone", "r2", client="2")
    replica.report()
    _see(client, "2", gone=1)
    replica.note("a", "r3")
    replica.report()
    assert client.zrange("miniserve:learners", 0, -1) == [b"a"]
    assert 0 < client.ttl("miniserve:learners:2") <= KEPT_S


def _see(client: Redis, holder: str, **seen_s: float) -> None:
    """As if these learners of a client had been seen last at these times."""
    client.zadd("miniserve:learners", seen_s, xx=True)
    client.zadd(f"miniserve:learners:{holder}", seen_s, xx=True)


def _counts(client: Redis) -> tuple[set[bytes], set[bytes], dict[bytes, float]]:
    """Who is kept by the hashes, by the clients' sets, and how many each client holds."""
    hashes = set(client.scan_iter("miniserve:learner:*"))
    held = {key.rpartition(b":")[2]: client.zrange(key, 0, -1) for key in client.scan_iter("miniserve:learners:*")}
    names = [name for names in held.values() for name in names]
    assert sorted(names) == sorted(client.zrange("miniserve:learners", 0, -1))
    return hashes, {b"miniserve:learner:" + name for name in names}, {key: len(names) for key, names in held.items()}


def test_a_client_that_brings_many_learners_pushes_out_its_own_alone(client: Redis) -> None:
    replica = Replica(client, max_memory_bytes=12 * 65536)
    for number in range(5):
        replica.note(f"quiet-{number}", f"q{number}", client="1")
    replica.report()
    for number in range(600):
        replica.note(f"loud-{number}", f"l{number}", client="2")
    while replica.learners.command() is not None:
        replica.report()

    hashes, held, counted = _counts(client)
    assert hashes == held and counted == {b"1": 5, b"2": 7}
    assert [replica.corrections(f"quiet-{number}") for number in range(5)] == [1] * 5
    replica.connection.close()


def test_a_client_that_is_alone_may_use_all_of_the_room_and_gives_it_up_to_others(client: Redis) -> None:
    replica = Replica(client, max_memory_bytes=12 * 65536)
    for name, num in (("1", 12), ("2", 3), ("3", 9)):
        for number in range(num):
            replica.note(f"{name}-{number}", f"{name}-r{number}", client=name)
        replica.report()

    hashes, held, counted = _counts(client)
    assert hashes == held and len(held) == 12
    assert counted[b"2"] == 3 and max(counted.values()) - min(counted[b"1"], counted[b"3"]) <= 1
    replica.connection.close()


def test_where_every_client_has_one_learner_the_one_unseen_for_longest_makes_room(client: Redis) -> None:
    replica = Replica(client, max_memory_bytes=3 * 65536)
    for name in ("1", "2", "3"):
        replica.note(f"of-{name}", name, client=name)
    replica.report()
    now, _ = client.time()
    for name, ago_s in (("1", 10), ("2", 30), ("3", 20)):
        _see(client, name, **{f"of-{name}": now - ago_s})

    replica.note("of-4", "4", client="4")
    replica.report()

    hashes, held, counted = _counts(client)
    assert hashes == held and set(counted) == {b"1", b"3", b"4"}
    replica.connection.close()


def test_a_learner_stays_that_of_the_client_who_brought_it_first(client: Redis, replica: Replica) -> None:
    replica.note("a", "r1", client="1")
    replica.report()
    replica.note("a", "r2", client="2")
    replica.report()

    hashes, held, counted = _counts(client)
    assert hashes == held and counted == {b"1": 1}
    assert replica.corrections("a") == 2
    replica.forget("a")
    assert _counts(client) == (set(), set(), {})


def test_no_hostile_value_stops_a_report(redis_url: str) -> None:
    client = Redis.from_url(redis_url, protocol=2)  # fakeredis does not give a script its errors
    replica = Replica(client)
    client.set("miniserve:request:r1", "not a hash")
    client.hset("miniserve:learner:b", mapping={"verbs": "many", "corrections": "x", "n:habit": "y", "holder": ":z"})
    client.set("miniserve:learner:c", "not a hash")
    assert replica.find("c") == {}
    for learner in "abcd":
        replica.note(learner, f"of-{learner}", ("habit", "go"))
    replica.note("e", "r1")

    replica.report()

    assert [replica.corrections(learner) for learner in "acde"] == [1, 1, 1, 0]
    replica.connection.close()


@pytest.mark.parametrize("key", ["learners", "learners:1", "learners:2", "learner:a"])
@pytest.mark.parametrize("kind", ["string", "junk"])
def test_a_broken_set_of_learners_is_put_right_and_all_are_counted(redis_url: str, key: str, kind: str) -> None:
    client = Redis.from_url(redis_url, protocol=2)
    replica = Replica(client, max_memory_bytes=4 * 65536)
    for number in range(2):
        replica.note(f"before-{number}", f"b{number}", client="2")
    replica.report()
    client.delete(f"miniserve:{key}")
    if kind == "string" or key == "learner:a":
        client.set(f"miniserve:{key}", "not ours")
    else:
        client.zadd(f"miniserve:{key}", {"junk": float("inf"), ":": 5, "9": -1, "gone": 1})

    for number, learner in enumerate("abcdef"):
        replica.note(learner, f"r{number}")
        replica.report()
    assert replica.corrections("f") == 1
    for learner in ("a", "f"):
        replica.forget(learner)

    assert replica.corrections("f") == 0 and client.zcard("miniserve:learners") <= 4
    replica.connection.close()


def test_what_redis_refuses_is_said_once_and_sent_again(
    private_redis: object, caplog: pytest.LogCaptureFixture
) -> None:
    client = Redis.from_url(private_redis.url, protocol=2)
    replica = Replica(client)
    replica.note("a", "r1", ("habit", "go"))
    (full, normal) = ("1", "0")

    client.config_set("maxmemory", full)
    for _ in range(3):
        (reply,) = replica.connection.ask(replica.learners.command())
        replica.learners.note_reply(reply)
    client.config_set("maxmemory", normal)
    replica.report()

    assert replica.corrections("a") == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "learners" in caplog.text and "habit" not in caplog.text
    replica.connection.close()
