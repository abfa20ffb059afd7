"""A key may have a limit of requests and of tokens a second: a second's worth at once, and one request in any case."""

from __future__ import annotations

import time

import pytest

from scheduler.errors import RateLimited
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request
from tests.recorded_requests import a_record

TOKENS = a_request("x").reserved_tokens


def submit(api: SubmittingMailbox, client: str, limits: str, name: str, num_jobs: int = 1) -> None:
    requests = [a_request(f"{name}-{number}" if num_jobs > 1 else name) for number in range(num_jobs)]
    api.submit_recorded(a_record(name, is_async=True, client=client, limits=limits), requests)


def accepted(api: SubmittingMailbox, limits: str, client: str = "1", num_jobs: int = 1) -> int:
    """Of twelve requests."""
    done = 0
    for number in range(12):
        try:
            submit(api, client, limits, f"{client}-{number}", num_jobs)
            done += 1
        except RateLimited:
            continue
    return done


def test_a_second_brings_so_many_requests_and_no_more(house: RedisHouse) -> None:
    began_s = time.monotonic()
    num_accepted = accepted(house.api(), "4.001 0")
    assert 4 <= num_accepted <= 4.001 * (1 + time.monotonic() - began_s)


@pytest.mark.parametrize(
    ("limits", "num_jobs", "most"),
    [("0.005 0", 1, 1), (f"0 {TOKENS / 100}", 1, 1), (f"0 {TOKENS / 100}", 8, 1), ("", 1, 12)],
)
def test_one_request_always_fits_and_each_client_is_counted_by_itself(
    house: RedisHouse, limits: str, num_jobs: int, most: int
) -> None:
    assert [accepted(house.api(), limits, client, num_jobs) for client in ("1", "2")] == [most, most]


@pytest.mark.parametrize(
    ("limits", "told", "wait_s"),
    [("0.005 0", r"0\.005 requests a second.*in 200 s", 200), (f"0 {TOKENS / 100}", r"tokens a second.*in 99 s", 99)],
)
def test_the_refusal_says_what_is_allowed_and_when_to_come_again(
    house: RedisHouse, limits: str, told: str, wait_s: float
) -> None:
    api = house.api()
    submit(api, "1", limits, "first")

    with pytest.raises(RateLimited, match=told) as refusal:
        submit(api, "1", limits, "second")

    assert wait_s - 1 < refusal.value.retry_after_s <= wait_s
    assert api.observe().counts["refused_share"] == 1


def test_what_was_refused_by_one_limit_uses_nothing_of_the_other(house: RedisHouse) -> None:
    api = house.api()
    assert accepted(api, f"2 {TOKENS / 100}") == 1

    submit(api, "1", "2 0", "last")


def test_a_request_that_is_repeated_counts_once(house: RedisHouse) -> None:
    api = house.api()
    for _ in range(5):
        record = a_record("kept", "key", is_async=True, client="1", limits="0.005 0")
        assert api.submit_recorded(record, [a_request("kept")]).request_id == "kept"
