"""What the mailbox tests of this ring share: houses over a real Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from tests.mailbox_house import RedisHouse
from tests.running_system import ApiProcess
from tests.scripted_queue import ScriptedQueue


@pytest.fixture(scope="module")
def api(redis_server: EmbeddedRedis) -> Iterator[ApiProcess]:
    """A replica on the shared Redis that lives through all tests of a file."""
    with ApiProcess(redis_server.url) as process:
        yield process


@pytest.fixture
def queue(client: Redis) -> ScriptedQueue:
    """The scripts of the shared Redis on a clock of the test's."""
    return ScriptedQueue(client)


@pytest.fixture
def private_house(private_redis: EmbeddedRedis) -> Iterator[RedisHouse]:
    """Mailboxes over `private_redis`, which the test may kill."""
    house = RedisHouse(private_redis.url)
    yield house
    house.close()
