"""The suite over the server that `up` starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mailbox_house import RedisHouse
from worker.mailbox.redis_py import connect
from worker.mailbox.worker_end import WorkerMailbox


@pytest.fixture
def house(redis_url: str) -> Iterator[RedisHouse]:
    house = RedisHouse(lambda: connect(redis_url))
    yield house
    house.close()


@pytest.fixture
def waking_house(redis_url: str) -> Iterator[RedisHouse]:
    """Claims that block."""
    house = RedisHouse(lambda: connect(redis_url), WorkerMailbox)
    yield house
    house.close()
