"""What clients hold of the queue: the reservations themselves say it."""

from __future__ import annotations

import pytest
from redis import Redis

from scheduler.errors import RateLimited
from tests.mailbox_house import RedisHouse, a_request, eventually
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=32, max_tokens=100_000)


def submit(house: RedisHouse, client: str, number: int, limits: MailboxLimits = LIMITS) -> None:
    """Each by a replica of its own."""
    name = f"{client}-{number}"
    house.api(limits).submit_recorded(a_record(name, is_async=True, client=client), [a_request(name)])


def test_the_share_counts_over_all_replicas(house: RedisHouse) -> None:
    submit(house, "2", 0)
    submit(house, "2", 1)
    accepted = 0
    with pytest.raises(RateLimited):
        for number in range(40):
            submit(house, "1", number)
            accepted += 1

    assert 14 <= accepted <= 16


def test_a_reservation_names_its_client_and_a_queue_that_is_half_empty_looks_at_none(queue: ScriptedQueue) -> None:
    queue.limits = LIMITS
    queue.client.config_resetstat()
    for number in range(15):
        queue.enqueue([a_request(f"r{number}")], a_record(f"r{number}", client=str(number % 2)))
    before = "cmdstat_hvals" in queue.client.info("commandstats")
    queue.enqueue([a_request("a"), a_request("b")], a_record("a", client="1"))

    assert (before, "cmdstat_hvals" in queue.client.info("commandstats")) == (False, True)
    assert queue.client.hget("miniserve:reservations", "r1") == b"42 1"


def test_what_one_packet_brings_counts_within_it(queue: ScriptedQueue) -> None:
    queue.limits = MailboxLimits(max_requests=16, max_tokens=10_000)
    queue.enqueue([a_request("other")], a_record("other", client="2"))
    packet = [a_record(f"r{number}", client="1") for number in range(16)]
    for number, wanted in enumerate(packet):
        wanted.requests = (a_request(f"r{number}"),)

    replies = [reply[0] for reply in queue.send(packet)]

    assert replies == 8 * [b"accepted"] + 8 * [b"share"]


@pytest.mark.parametrize("how", ["deleted", "cancelled"])
def test_what_a_client_holds_no_more_is_free_for_it_again(house: RedisHouse, redis_url: str, how: str) -> None:
    submit(house, "2", 0)
    api = house.api(LIMITS)
    for number in range(16):
        submit(house, "1", number)
    with pytest.raises(RateLimited):
        submit(house, "1", 16)

    if how == "cancelled":
        api.cancel_all(["1-0"])
    else:
        with Redis.from_url(redis_url) as client:  # as a dashboard does
            client.lrem("rq:queue:correct-async", 1, "1-0")
            client.delete("rq:job:1-0")
        house.worker()  # its beat notices
        eventually(lambda: api.status().reserved_requests == 16)

    submit(house, "1", 16)
