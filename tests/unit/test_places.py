"""The places for connections: all may be taken, but by one client only while there are plenty."""

from __future__ import annotations

import errno
import resource
from unittest.mock import Mock

import pytest

from api.server.connections import Places, num_connections
from api.server.serving import Serving
from scheduler.errors import QueueFull, RateLimited
from tests.fake_mailbox import site_of

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
    for number in range(76):
        places.take(f"192.0.3.{number}")
    assert taken(places, RUDE, 9) == 1, "it has four of the five that one may have where they are scarce"


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


@pytest.mark.parametrize(("soft", "most"), [(resource.RLIM_INFINITY, 4096), (20_000, 4096), (1024, 768), (300, 64)])
def test_connections_leave_some_files_to_redis_and_to_python(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int
) -> None:
    monkeypatch.setattr("api.server.connections.resource.getrlimit", lambda _: (soft, soft))

    assert num_connections(4096) == most


def test_without_a_free_file_a_listener_is_looked_at_with_the_next_tick() -> None:
    serving, listener = Serving(site_of(), 64), Mock()
    serving._loop, serving._notify = loop, _ = Mock(), Mock()
    loop.time.return_value = 1.0
    listener.accept.side_effect = OSError(errno.EMFILE, "Too many open files")

    serving._accept(listener)
    before = loop.add_reader.call_count
    serving._tick(1.0)

    assert loop.remove_reader.call_count == 1
    assert (before, loop.add_reader.call_count) == (0, 1)
