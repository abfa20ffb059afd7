"""Mailboxes over the server that `up` starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mailbox_house import RedisHouse


@pytest.fixture
def house(redis_url: str) -> Iterator[RedisHouse]:
    house = RedisHouse(redis_url)
    yield house
    house.close()
