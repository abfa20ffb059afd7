"""What two pools change for others on the same Redis: shares of the queue, rates, the file, the rights of users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import guarded_redis
from tests.guarded_redis import GuardedHouse
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, take, take_one
from tests.pools_house import Pools, handoffs, offer
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

    assert api.wait(ticket, 5) == an_answer("handed")
    assert eventually(lambda: reader.exchange((), AMPLE, wait_s=0.05).cancelled_ids) == ("handed",)
