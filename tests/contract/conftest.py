"""The same suite for every mailbox: in memory, fakeredis, and the server that `up` starts."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from tests.mailbox_house import House, MemoryHouse, RedisHouse
from worker.mailbox.connection import connect
from worker.mailbox.worker_end import RedisWorkerMailbox


@pytest.fixture(params=["memory", "fakeredis", "redis"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    if request.param == "memory":
        house: House = MemoryHouse()
    elif request.param == "fakeredis":
        server = fakeredis.FakeServer()
        house = RedisHouse(lambda: fakeredis.FakeRedis(server=server, protocol=2))
    else:
        url = request.getfixturevalue("redis_url")
        house = RedisHouse(lambda: connect(url))
    yield house
    house.close()


@pytest.fixture(params=["memory", "redis"])
def waking_house(request: pytest.FixtureRequest) -> Iterator[House]:
    """fakeredis does not wake a blocked BLMOVE when a script pushes."""
    if request.param == "memory":
        house: House = MemoryHouse()
    else:
        url = request.getfixturevalue("redis_url")
        house = RedisHouse(lambda: connect(url), RedisWorkerMailbox)
    yield house
    house.close()
