"""What the queue refuses is told with value, limit and remedy, leaves nothing, and says when to come again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.errors import DeadlineExceeded, QueueFull, RateLimited, ServingError, ShuttingDown
from tests.mailbox_house import RedisHouse, a_request, eventually, take
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits, Submission, WorkerReport

BOUND = MailboxLimits(max_requests=32)
NO_MEMORY = replace(BOUND, max_memory_bytes=24_000)
HOLDS_HALF = a_record("new", is_async=True, client="1")
OTHER = a_record("new", is_async=True, client="3")
FOLLOWED = a_record("new", is_followed=True)  # it is refused before it is followed: a stream has one status


@pytest.mark.parametrize(
    ("limits", "asked", "within_s", "error", "told", "least_s"),
    [
        (BOUND, HOLDS_HALF, None, RateLimited, "holds 16 requests and 672 .* it may hold half: 16 and", 60),
        (BOUND, replace(OTHER, client=""), None, QueueFull, "holds 28 of 32 requests and 1,176 of", 60),
        (BOUND, FOLLOWED, None, QueueFull, "holds 32 of 32 requests", 60),
        (BOUND, OTHER, 10.0, DeadlineExceeded, "would come after.*than the 10,000 ms.* nothing was queued", 0),
        (NO_MEMORY, OTHER, None, QueueFull, "MiB", 15),
        (BOUND, replace(OTHER, limits="0.005 0"), None, RateLimited, r"0\.005 requests a second.*in 200 s", 199),
        (BOUND, replace(OTHER, limits="0 0.42"), None, RateLimited, "0.42 tokens a second.*in 99 s", 98),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_held_or_allowed_and_when_to_come_again(
    house: RedisHouse, limits: MailboxLimits, asked: Submission, within_s: float | None, error: type[ServingError],
    told: str, least_s: float,
) -> None:  # fmt: skip
    house.worker(lambda: WorkerReport(service_rate_tokens_per_s=0.1))
    api, client, own = house.api(BOUND), house.connect(), house.api(limits)
    for name in [f"{owner}-{number}" for owner, num in (("2", 3), ("1", 16)) for number in range(num)]:
        api.submit_recorded(a_record(name, is_async=True, client=name[0]), [a_request(name)])
    eventually(lambda: all(client.hmget("miniserve:counts", "used_memory", "service_rate")))

    with pytest.raises(error, match=told) as refusal:
        for number in range(32):
            own.submit_recorded(replace(asked, request_id=f"r{number}"), [a_request(f"r{number}")], within_s)

    assert least_s <= getattr(refusal.value, "retry_after_s", 0) <= max(76, least_s + 1)
    assert api.status().reserved_requests == 19 + number


def test_what_waited_past_its_deadline_is_never_begun(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("late"), within_s=600.0)
    house.end_deadline("late")

    assert take(worker) == []

    with pytest.raises(DeadlineExceeded, match="The deadline was over before"):
        api.wait(ticket)


def test_a_closed_mailbox_takes_nothing_and_cancels_what_its_clients_wait_for(house: RedisHouse) -> None:
    api, other = house.api(), house.api()
    ticket = api.submit(a_request("a"))

    api.close()

    with pytest.raises(ShuttingDown):
        api.submit(a_request("b"))
    with pytest.raises(ShuttingDown):
        api.wait(ticket)
    eventually(lambda: not other.status().reserved_requests)
