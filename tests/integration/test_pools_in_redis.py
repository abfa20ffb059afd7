"""What two pools change for others on the same Redis: shares of the queue, rates, the file, the rights of users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import guarded_redis
from tests.guarded_redis import GuardedHouse
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, take, take_one
from tests.pools_house import Pools, a_report, hand_over, handoffs
from worker.pools.decode import DecodeEnd
from worker.pools.prefill import PrefillEnd


@pytest.fixture
def pools(redis_url: str) -> Iterator[Pools]:
    found = Pools(redis_url)
    yield found
    found.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[GuardedHouse]:
    server = guarded_redis.start(tmp_path)
    with server.client("worker") as client:
        client.hset("miniserve:rates", "stand-in", "0.0 decode")
    house = GuardedHouse(server)
    yield house
    house.close()
    server.stop()


def test_the_queue_is_shared_by_those_alone_who_take_from_it(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    for new in (pools.prefill, pools.prefill, pools.decode, pools.decode, pools.decode):
        new()
    names = [f"r{number}" for number in range(9)]
    for name in names:
        api.submit(a_request(name))

    assert take(reader) == names[:3]


def test_of_two_pools_the_slower_one_is_what_requests_are_refused_by(pools: Pools) -> None:
    api = pools.api()
    rates = []
    for new, rate in ((pools.prefill, 100.0), (pools.decode, 30.0), (pools.decode, 40.0), (pools.decode, 50.0)):
        new(rate)
        rates.append(api.status().service_rate_tokens_per_s)

    assert rates == [0.0, 30.0, 70.0, 100.0]


def test_a_rate_of_a_worker_of_role_all_is_a_plain_number_as_earlier_versions_read_it(pools: Pools) -> None:
    pools.client.delete("miniserve:rates")
    pools._prefill.worker(lambda: a_report("all", 12.5))

    assert pools.client.hvals("miniserve:rates") == ["12.5"]
    assert pools.api().status().service_rate_tokens_per_s == 12.5


def test_a_prefill_worker_takes_nothing_while_no_decode_worker_is_there(pools: Pools) -> None:
    pools.client.delete("miniserve:rates")
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))

    assert take(reader) == []

    pools.decode()
    reader._heartbeat._register_at_s = 0.0  # with the next beat
    eventually(lambda: take(reader) == ["a"])


@pytest.mark.parametrize("when", ["while it is read", "while it waits"])
def test_what_is_deleted_by_hand_is_held_by_nobody(pools: Pools, when: str) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    if when == "while it is read":
        pools.client.delete("rq:job:a")
    hand_over(reader, "a")
    pools.client.delete("rq:job:a")

    assert take(pools.decode()) == []

    assert pools.places() == {"queue": [], "read": [], "wip": []}
    assert pools.client.hlen("miniserve:reservations") == 0


def test_what_was_read_waits_without_its_bytes_while_redis_uses_half_of_its_memory(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    memory = int(pools.client.info("memory")["used_memory"] * 1.5)
    pools.client.config_set("maxmemory", memory)
    try:
        eventually(lambda: pools.client.hget("miniserve:counts", "max_memory") == str(memory))
        hand_over(reader, "a")
        assert handoffs(pools.decode().exchange((), AMPLE).deliveries) == {"a": b""}
    finally:
        pools.client.config_set("maxmemory", 0)


def test_bytes_of_another_type_cost_their_own_request_a_prompt_and_nobody_else_a_thing(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    for name in ("a", "b"):
        api.submit(a_request(name))
    assert take(reader) == ["a", "b"]
    hand_over(reader, "a", "b")
    pools.client.delete("miniserve:handoff:a")
    pools.client.lpush("miniserve:handoff:a", "junk")

    taken = writer.exchange((), AMPLE)

    assert handoffs(taken.deliveries) == {"a": b"", "b": b"state of b"}


def test_the_append_only_file_gets_no_bytes_of_what_is_on_its_way(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    before = pools.client.info("persistence")["aof_current_size"]

    hand_over(reader, "a", handoff=bytes(1 << 20))
    taken = pools.decode().exchange((), AMPLE)

    assert len(handoffs(taken.deliveries)["a"]) > 1 << 20
    assert pools.client.info("persistence")["aof_current_size"] - before < 1 << 16


def test_a_request_goes_through_both_pools_by_the_rights_of_workers(guarded: GuardedHouse) -> None:
    api, reader, writer = guarded.api(), guarded.worker(PrefillEnd), guarded.worker(DecodeEnd)
    ticket = api.submit(a_request("handed"))
    assert take_one(reader).request.request_id == "handed"

    hand_over(reader, "handed")
    assert handoffs((take_one(writer),)) == {"handed": b"state of handed"}
    answer(writer, "handed")

    assert api.wait(ticket) == an_answer("handed")
