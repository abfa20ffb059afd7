"""The places for connections: all may be taken, but by one client only while there are plenty."""

from __future__ import annotations

import pytest

from api.server.connections import Places
from scheduler.errors import QueueFull, RateLimited

PROXY = "10.0.0.7"
RUDE, GOOD = "192.0.2.1", "192.0.2.2"


def taken(places: Places, address: str, number: int) -> int:
    count = 0
    for _ in range(number):
        try:
            places.take(address)
        except RateLimited:
            continue
        count += 1
    return count


def test_one_client_has_all_it_likes_until_places_are_scarce() -> None:
    places = Places(100, "")

    assert taken(places, RUDE, 100) == 80
    assert taken(places, GOOD, 100) == 5
    assert not places.is_full


def test_whoever_gives_places_back_may_come_again() -> None:
    places = Places(100, "")
    taken(places, RUDE, 80)
    for _ in range(76):
        places.leave(RUDE)

    assert not places.are_scarce
    assert taken(places, RUDE, 1) == 1


def test_a_few_more_are_accepted_where_all_places_are_taken_and_their_requests_are_refused() -> None:
    places = Places(30, "")
    spare = [places.take(f"192.0.2.{number}") for number in range(31)]

    assert spare == [False] * 30 + [True]
    assert places.enter("192.0.2.1", "") is None
    with pytest.raises(QueueFull):
        places.enter("192.0.2.30", "", is_spare=True)
    places.leave("192.0.2.0")
    assert places.enter("192.0.2.30", "", is_spare=True) is None
    assert taken(places, "192.0.2.31", 1) == taken(places, "192.0.2.32", 1) == 1
    with pytest.raises(QueueFull):
        places.take("192.0.2.33")


def test_behind_a_trusted_proxy_the_share_is_that_of_the_client_it_names() -> None:
    places = Places(100, "10.0.0.0/8")
    rude, good = "192.0.2.1", "192.0.2.2"
    assert taken(places, PROXY, 90) == 90, "the proxy's connections are those of many"

    held = [places.enter(PROXY, rude) for _ in range(5)]
    with pytest.raises(RateLimited):
        places.enter(PROXY, rude)
    assert places.enter(PROXY, good) == "192.0.2.2"
    places.exit(held[0])
    assert places.enter(PROXY, rude) == "192.0.2.1"


def test_a_client_cannot_name_another_by_itself() -> None:
    places = Places(100, "10.0.0.0/8")

    assert places.enter(RUDE, [("X-FORWARDED-FOR", "198.51.100.1")]) is None
