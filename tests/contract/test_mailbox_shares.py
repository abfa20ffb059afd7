"""One client may hold half of the queue while others wait, and all of it while nobody else asks."""

from __future__ import annotations

import pytest

from scheduler.errors import QueueFull, RateLimited
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=32, max_tokens=100_000)
ONE, OTHER = "1", "2"


def fill(api: SubmittingMailbox, client: str, most: int = 40, prefix: str = "") -> int:
    """Submit until a request is refused; how many were accepted."""
    for number in range(most):
        name = f"{prefix}{client}-{number}"
        try:
            api.submit_recorded(a_record(name, is_async=True, client=client), [a_request(name)])
        except (QueueFull, RateLimited):
            return number
    return most


def test_one_client_alone_may_fill_the_queue(house: RedisHouse) -> None:
    assert fill(house.api(LIMITS), ONE) == 28  # what nobody waits for leaves an eighth


def test_while_another_waits_a_client_holds_at_most_half(house: RedisHouse) -> None:
    api = house.api(LIMITS)
    fill(api, OTHER, most=3)

    num_held = fill(api, ONE)

    assert 14 <= num_held <= 16
    with pytest.raises(RateLimited) as refusal:
        api.submit_recorded(a_record("more", is_async=True, client=ONE), [a_request("more")])
    assert 1 <= refusal.value.retry_after_s <= 60
    assert api.observe().counts["refused_share"] == 2
    assert fill(api, OTHER, prefix="more-") >= 8
