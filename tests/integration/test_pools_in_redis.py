"""What two pools change for others on the same Redis: shares of the queue, rates, the file, the rights of users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler.messages import NO_CAPACITY
from tests import guarded_redis
from tests.guarded_redis import GuardedHouse
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, take, take_one
from tests.pools_house import Pools, a_report, a_request_that_was_offered, handoffs, offer
from worker.pools.decode import OFFERS, DecodeEnd
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


def test_an_owner_whose_lease_ran_out_learns_what_was_taken_when_it_goes_on(pools: Pools) -> None:
    _, _, reader = a_request_that_was_offered(pools)
    writer = pools.decode(is_fresh=lambda: False)  # reaps nobody
    reader._heartbeat.stop()
    pools.client.zadd("miniserve:leases", {reader.name: 1})

    assert take(writer) == ["a"]

    assert reader.exchange((), AMPLE).cancelled_ids == ("a",)


def test_what_is_deleted_by_hand_while_it_is_offered_is_held_by_nobody(pools: Pools) -> None:
    _, _, reader = a_request_that_was_offered(pools)
    pools.client.delete("rq:job:a")

    assert take(pools.decode()) == []

    assert reader.exchange((), AMPLE).cancelled_ids == ("a",)
    assert pools.places() == {"queue": [], "wip": []}
    assert pools.client.hlen("miniserve:reservations") == 0


def test_an_offer_that_waits_and_is_made_again_counts_once(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    api, reader = pools.api(), pools.prefill()
    names = ("a", "b", "c")
    for name in names:
        api.submit(a_request(name))
    assert take(reader) == [*names]
    for name in names:
        offer(reader, name, handoff=bytes(15 << 20))  # 45 of 64 MiB
    monkeypatch.setattr("worker.pools.prefill.AGAIN_S", 0.0)

    for _ in range(6):
        reader.exchange((), NO_CAPACITY)

    assert pools.client.llen(OFFERS) == 3
    assert pools.client.zcard("miniserve:handoffs") == 3


def test_a_claim_brings_a_bounded_number_of_bytes(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    names = ("a", "b", "c", "d")
    for name in names:
        api.submit(a_request(name))
    assert take(reader) == [*names]
    for name in names:
        offer(reader, name, handoff=bytes(3 << 20))

    assert [take(writer), take(writer)] == [["a", "b"], ["c", "d"]]


def test_a_redis_without_memory_takes_no_offer(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    pools.client.zadd("miniserve:handoffs", {"old:5": 1})  # is over: to be forgotten
    used = pools.client.info("memory")["used_memory"]
    pools.client.config_set("maxmemory", used)
    try:
        offer(reader, "a", handoff=bytes(8 << 20))
        assert pools.client.exists("miniserve:handoff:a", OFFERS) == 0
    finally:
        pools.client.config_set("maxmemory", 0)


def test_what_is_on_its_way_takes_at_most_an_eighth_of_the_memory_of_redis(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    names = ("a", "b", "c", "d")
    for name in names:
        api.submit(a_request(name))
    assert take(reader) == [*names]
    pools.client.config_set("maxmemory", 128 << 20)
    try:
        eventually(lambda: pools.client.hget("miniserve:counts", "max_memory") == str(128 << 20))
        for name in names:
            offer(reader, name, handoff=bytes(7 << 20))
        assert pools.client.llen(OFFERS) == 2
    finally:
        pools.client.config_set("maxmemory", 0)


def test_a_single_prompt_above_the_bound_is_taken_and_keeps_its_bytes_when_it_is_offered_again(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    pools.client.config_set("maxmemory", 64 << 20)
    try:
        eventually(lambda: pools.client.hget("miniserve:counts", "max_memory") == str(64 << 20))
        offer(reader, "a", handoff=bytes(9 << 20))
        pools.client.pexpire("miniserve:handoff:a", 2000)
        offer(reader, "a", handoff=bytes(9 << 20))
        assert pools.client.pttl("miniserve:handoff:a") > 2000
        assert pools.client.llen(OFFERS) == 1
    finally:
        pools.client.config_set("maxmemory", 0)


def test_bytes_of_another_type_cost_their_own_request_a_prompt_and_nobody_else_a_thing(pools: Pools) -> None:
    api, reader, writer = pools.api(), pools.prefill(), pools.decode()
    for name in ("a", "b"):
        api.submit(a_request(name))
    assert take(reader) == ["a", "b"]
    offer(reader, "a", "b")
    pools.client.delete("miniserve:handoff:a")
    pools.client.lpush("miniserve:handoff:a", "junk")

    taken = writer.exchange((), AMPLE)

    assert handoffs(taken.deliveries) == {"a": b"", "b": b"state of b"}


def test_the_append_only_file_gets_no_bytes_of_what_is_on_its_way(pools: Pools) -> None:
    api, reader = pools.api(), pools.prefill()
    api.submit(a_request("a"))
    assert take(reader) == ["a"]
    before = pools.client.info("persistence")["aof_current_size"]

    offer(reader, "a", handoff=bytes(1 << 20))
    taken = pools.decode().exchange((), AMPLE)

    assert len(handoffs(taken.deliveries)["a"]) > 1 << 20
    assert pools.client.info("persistence")["aof_current_size"] - before < 1 << 16


def test_a_request_goes_through_both_pools_by_the_rights_of_workers(guarded: GuardedHouse) -> None:
    api, reader, writer = guarded.api(), guarded.worker(PrefillEnd), guarded.worker(DecodeEnd)
    ticket = api.submit(a_request("handed"))
    assert take_one(reader).request.request_id == "handed"

    offer(reader, "handed")
    assert handoffs((take_one(writer),)) == {"handed": b"state of handed"}
    answer(writer, "handed")

    assert api.wait(ticket) == an_answer("handed")
    assert eventually(lambda: reader.exchange((), AMPLE, wait_s=0.05).cancelled_ids) == ("handed",)
