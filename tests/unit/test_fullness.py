"""For how long a process believes that the queue is full without asking again."""

from __future__ import annotations

from collections import Counter

import pytest

from scheduler.errors import RateLimited
from worker.mailbox.admission import KnownFullness, rate_limited
from worker.mailbox.protocol import MailboxLimits


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fullness(clock: Clock) -> KnownFullness:
    return KnownFullness(MailboxLimits(max_requests=10, max_tokens=1000), clock)


def test_nothing_is_known_before_a_refusal(fullness: KnownFullness) -> None:
    assert fullness.refusal() is None


@pytest.mark.parametrize(
    ("tokens_per_s", "holds_s"),
    [(1000.0, 0.01), (50.0, 0.05)],  # half a second of work, ten seconds of work
)
def test_it_is_believed_for_a_fiftieth_of_the_backlog_and_never_over_50_ms(
    fullness: KnownFullness, clock: Clock, tokens_per_s: float, holds_s: float
) -> None:
    told = fullness.note(10, 500, tokens_per_s)

    clock.now_s += 0.9 * holds_s
    believed = fullness.refusal()
    clock.now_s += 0.2 * holds_s

    assert believed is not None
    assert str(believed).partition("; try")[0] == str(told).partition("; try")[0]
    assert fullness.refusal() is None


def test_tokens_that_not_even_the_shortest_sentence_has_room_beside_fill_the_queue_too(fullness: KnownFullness) -> None:
    fullness.note(3, 970, 100.0)

    assert fullness.refusal() is not None


def test_what_was_too_long_leaves_room_for_what_is_shorter(fullness: KnownFullness) -> None:
    fullness.note(3, 900, 100.0)

    assert fullness.refusal() is None


def test_where_no_rate_is_known_it_is_asked_every_time(fullness: KnownFullness) -> None:
    fullness.note(10, 500, 0.0)

    assert fullness.refusal() is None


def test_what_one_client_was_told_is_known_to_another_only_once_it_was_told_so_too(
    fullness: KnownFullness, clock: Clock
) -> None:
    fullness.note(10, 500, 100.0, "one")
    before = fullness.refusal("one"), fullness.refusal("other")

    fullness.note(10, 500, 100.0, "other")
    after = fullness.refusal("one"), fullness.refusal("other"), fullness.refusal("third")
    clock.now_s += 1.0
    fullness.note(10, 500, 100.0, "one")

    assert (before[0] is not None, before[1]) == (True, None)
    assert all(after)
    assert fullness.refusal("other") is None


def test_a_burst_beyond_the_queue_is_refused_before_redis_has_refused_any_of_it(fullness: KnownFullness) -> None:
    assert fullness.refusal(num_waiting=19, num_open=9) is None

    refusal = fullness.refusal(num_waiting=10, num_open=10)

    assert fullness.refusal(num_waiting=20) is not None
    assert refusal is not None and refusal.retry_after_s >= 1
    assert "10 of 10 requests" in str(refusal)


def test_in_a_crowd_half_of_the_queue_is_for_those_who_were_refused_before(fullness: KnownFullness) -> None:
    fullness.backlog = 500, 100.0
    assert fullness.refusal(num_waiting=4, is_newcomer=True) is None

    refusal = fullness.refusal(num_waiting=5, is_newcomer=True)

    assert refusal is not None and 5 <= refusal.retry_after_s <= 10
    assert "5 of 10 requests and 500 of 1,000 reserved tokens" in str(refusal)
    assert fullness.refusal(num_waiting=9) is None


def test_a_crowd_that_is_refused_at_once_comes_back_over_as_many_seconds_as_it_fills_queues(
    fullness: KnownFullness, clock: Clock
) -> None:
    fullness.backlog = 500, 1000.0
    refusals = [fullness.refusal(num_open=10) for _ in range(50)]

    returns = Counter(refusal.retry_after_s for refusal in refusals if refusal is not None)
    clock.now_s += 0.11
    later = fullness.refusal(num_open=10)

    assert returns.total() == 50 and max(returns.values()) <= 10  # half of the queue, in each of two seconds
    assert set(returns) <= set(range(1, 13))
    assert later is not None and later.retry_after_s <= 2


def test_however_many_are_refused_at_once_none_is_sent_away_for_much_longer(clock: Clock) -> None:
    fullness = KnownFullness(MailboxLimits(max_requests=1, max_tokens=1000), clock)

    assert max(fullness.note(1, 500, 1000.0).retry_after_s for _ in range(100)) <= 12


def test_a_client_that_holds_its_share_is_refused_at_once_for_a_moment_and_no_other_is(
    fullness: KnownFullness, clock: Clock
) -> None:
    fullness.note_client("greedy", 0.25, lambda: rate_limited(500, 400, 100.0))
    refusals = fullness.refusal("greedy"), fullness.refusal("other")
    clock.now_s += 0.26

    assert (isinstance(refusals[0], RateLimited), refusals[1]) == (True, None)
    assert fullness.refusal("greedy") is None
