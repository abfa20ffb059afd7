"""A key may have a limit of requests and of tokens a second: a second's worth at once, and one request in any case."""

from __future__ import annotations

import time

import pytest

from scheduler.errors import RateLimited
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request
from tests.recorded_requests import a_record
from worker.queue import admission


def submit(api: SubmittingMailbox, client: str, limits: str, name: str, num_jobs: int = 1) -> None:
    requests = [a_request(f"{name}-{number}" if num_jobs > 1 else name) for number in range(num_jobs)]
    api.submit_recorded(a_record(name, is_async=True, client=client, limits=limits), requests)


def accepted(api: SubmittingMailbox, limits: str, client: str = "1", num_asked: int = 12, num_jobs: int = 1) -> int:
    done = 0
    for number in range(num_asked):
        try:
            submit(api, client, limits, f"{client}-{number}", num_jobs)
            done += 1
        except RateLimited:
            continue
    return done


def test_a_second_brings_so_many_requests_and_no_more(house: RedisHouse) -> None:
    assert accepted(house.api(), "0.005 0") == 1  # one, and the next after 200 s
    began_s = time.monotonic()
    num_accepted = accepted(house.api(), "4.001 0", client="2")
    assert 4 <= num_accepted <= 4.001 * (1 + time.monotonic() - began_s)


def test_the_refusal_says_what_is_allowed_and_when_to_come_again(house: RedisHouse) -> None:
    api = house.api()
    submit(api, "1", "0.005 0", "first")

    assert "use 1 request a second" in str(admission.over_limit("requests", 1.0, 0.5))
    with pytest.raises(RateLimited, match=r"0\.005 requests a second.*in 200 s") as refusal:
        submit(api, "1", "0.005 0", "second")

    assert 199 < refusal.value.retry_after_s <= 200
    assert isinstance(api.known_refusal("1"), RateLimited | None)
    assert api.observe().counts["refused_share"] == 1


def test_tokens_are_counted_as_they_are_reserved_and_one_request_always_fits(house: RedisHouse) -> None:
    api = house.api()
    tokens = a_request("x").reserved_tokens

    assert accepted(api, f"0 {tokens / 10}") == 1
    assert accepted(api, f"0 {tokens * 2}", client="2", num_asked=1, num_jobs=8) == 1
    with pytest.raises(RateLimited, match=r"tokens a second.*in 3 s"):
        submit(api, "2", f"0 {tokens * 2}", "second")


def test_clients_and_requests_without_a_limit_are_not_counted(house: RedisHouse) -> None:
    assert accepted(house.api(), "") == 12
    assert [accepted(house.api(), "0.005 0", client=client) for client in ("2", "3")] == [1, 1]


def test_what_was_refused_uses_nothing_up(house: RedisHouse) -> None:
    """By a limit on tokens, of that on requests."""
    api = house.api()
    tokens = a_request("x").reserved_tokens
    submit(api, "1", f"2 {tokens / 100}", "first")
    for number in range(5):
        with pytest.raises(RateLimited, match="tokens"):
            submit(api, "1", f"2 {tokens / 100}", f"more-{number}")

    submit(api, "1", "2 0", "second")


def test_a_request_that_is_repeated_counts_once(house: RedisHouse) -> None:
    api = house.api()
    for _ in range(5):
        record = a_record("kept", "key", is_async=True, client="1", limits="0.005 0")
        assert api.submit_recorded(record, [a_request("kept")]).request_id == "kept"
