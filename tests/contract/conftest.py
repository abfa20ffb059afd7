"""The suite over the server that `up` starts, by the scripts' way for plain requests and by that for all others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mailbox_house import RedisHouse


@pytest.fixture(params=["any", "plain"])
def house(redis_url: str, request: pytest.FixtureRequest) -> Iterator[RedisHouse]:
    house = RedisHouse(redis_url)
    house.sends_plain = request.param == "plain"
    yield house
    house.close()
