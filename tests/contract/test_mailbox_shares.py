"""One client may hold half of the queue while others wait, and all of it while nobody else asks."""

from __future__ import annotations

import pytest

from scheduler.errors import QueueFull, RateLimited
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, answer, eventually, take
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


def test_a_client_without_a_name_may_fill_the_queue_beside_others(house: RedisHouse) -> None:
    api = house.api(LIMITS)
    fill(api, ONE, most=2)

    assert fill(api, "") == 26


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


def test_a_client_that_filled_the_queue_alone_gets_no_more_once_another_waits(house: RedisHouse) -> None:
    api, worker = house.api(LIMITS), house.worker()
    fill(api, ONE)
    answer(worker, *take(worker, requests=10))
    api.submit_recorded(a_record("first", is_async=True, client=OTHER), [a_request("first")])

    with pytest.raises(RateLimited):
        api.submit_recorded(a_record("greedy", is_async=True, client=ONE), [a_request("greedy")])

    assert fill(api, OTHER) == 9


@pytest.mark.parametrize("end", ["answered", "cancelled"])
def test_what_has_ended_is_held_no_more(house: RedisHouse, end: str) -> None:
    api, worker = house.api(LIMITS), house.worker()
    fill(api, OTHER, most=3)
    num_held = fill(api, ONE)

    if end == "answered":
        taken = take(worker)
        assert len(taken) == num_held + 3
        answer(worker, *taken)
    else:
        api.cancel_all([f"{ONE}-{number}" for number in range(num_held)])
    eventually(lambda: api.status().reserved_requests <= 3)
    fill(api, OTHER, most=3, prefix="again-")

    assert 14 <= fill(api, ONE, prefix="again-") <= 16


def test_a_request_that_is_greater_than_the_share_is_taken_from_who_holds_nothing(house: RedisHouse) -> None:
    api = house.api(LIMITS)
    fill(api, OTHER, most=3)

    accepted = api.submit_recorded(
        a_record("large", is_async=True, client=ONE), [a_request(f"large-{number}") for number in range(20)]
    )

    assert accepted.request_id == "large"


def test_when_the_queue_is_full_of_what_nobody_waits_for_those_who_wait_still_find_room(house: RedisHouse) -> None:
    api = house.api(LIMITS)
    fill(api, ONE)

    accepted = [api.submit(a_request(f"w{number}")) for number in range(4)]

    assert len(accepted) == 4
    with pytest.raises(QueueFull):
        api.submit(a_request("w4"))
