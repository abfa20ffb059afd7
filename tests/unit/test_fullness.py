"""For how long a process believes that the queue is full without asking again."""

from __future__ import annotations

import pytest

from worker.mailbox.admission import KnownFullness
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
