"""The same suite over fakeredis and over the server that `up` starts."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from tests.mailbox_house import RedisHouse
from worker.mailbox.redis_py import connect
from worker.mailbox.worker_end import RedisWorkerMailbox


@pytest.fixture(params=["fakeredis", "redis"])
def house(request: pytest.FixtureRequest) -> Iterator[RedisHouse]:
    if request.param == "fakeredis":
        server = fakeredis.FakeServer()
        house = RedisHouse(lambda: fakeredis.FakeRedis(server=server, protocol=2))
    else:
        url = request.getfixturevalue("redis_url")
        house = RedisHouse(lambda: connect(url))
    yield house
    house.close()


@pytest.fixture
def waking_house(redis_url: str) -> Iterator[RedisHouse]:
    """Claims that block: fakeredis does not wake a blocked BLMOVE when a script pushes."""
    house = RedisHouse(lambda: connect(redis_url), RedisWorkerMailbox)
    yield house
    house.close()
