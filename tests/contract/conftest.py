"""The same suite for every mailbox: in memory, fakeredis, the Redis of this machine, the one that `up` brings."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from ops.run import embedded_redis
from tests.bundled_redis import only_the_bundled_redis
from tests.mailbox_house import House, MemoryHouse, RedisHouse
from worker.mailbox.connection import connect
from worker.mailbox.worker_end import RedisWorkerMailbox


@pytest.fixture(scope="session")
def bundled_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded_redis.EmbeddedRedis]:
    """An older version and another allocator than most machines have: it once died of a script that they bore."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in only_the_bundled_redis(tmp_path_factory.mktemp("path")).items():
            patch.setenv(name, value)
        server = embedded_redis.start(tmp_path_factory.mktemp("bundled"))
    yield server
    server.stop()


@pytest.fixture
def bundled_redis_url(bundled_redis: embedded_redis.EmbeddedRedis) -> str:
    """The shared server, empty."""
    with connect(bundled_redis.url) as client:
        client.flushall()
    return bundled_redis.url


@pytest.fixture(params=["memory", "fakeredis", "redis", "bundled_redis"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    if request.param == "memory":
        house: House = MemoryHouse()
    elif request.param == "fakeredis":
        server = fakeredis.FakeServer()
        house = RedisHouse(lambda: fakeredis.FakeRedis(server=server, protocol=2))
    else:
        url = request.getfixturevalue(f"{request.param}_url")
        house = RedisHouse(lambda: connect(url))
    yield house
    house.close()


@pytest.fixture(params=["memory", "redis", "bundled_redis"])
def waking_house(request: pytest.FixtureRequest) -> Iterator[House]:
    """fakeredis does not wake a blocked BLMOVE when a script pushes."""
    if request.param == "memory":
        house: House = MemoryHouse()
    else:
        url = request.getfixturevalue(f"{request.param}_url")
        house = RedisHouse(lambda: connect(url), RedisWorkerMailbox)
    yield house
    house.close()
