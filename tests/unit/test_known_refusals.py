"""For how long a process believes a refusal without asking again."""

from __future__ import annotations

from functools import partial

import pytest

from scheduler.errors import RateLimited
from tests.unit.small_model import Clock
from worker.queue.admission import FULL_HOLDS_S, KnownRefusals, fits_nothing, queue_full
from worker.queue.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=10, max_tokens=1000)
FULL = partial(queue_full, 10, 500, 100.0, LIMITS)
BACKLOG_S = 0.32


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def known(clock: Clock) -> KnownRefusals:
    return KnownRefusals(clock)


def num_asking(known: KnownRefusals, number: int = 1000) -> int:
    """How many of so many requests go to Redis."""
    return sum(known.refusal("one") is None for _ in range(number))


@pytest.mark.parametrize(
    ("numbers", "is_full"),
    [
        ((10, 500), True),
        ((3, 970), True),  # no room beside the tokens, not even for the shortest sentence
        ((3, 900), False),  # what was too long leaves room for what is shorter
    ],
)
def test_a_queue_is_full_where_not_even_the_shortest_sentence_fits(numbers: tuple[int, int], is_full: bool) -> None:
    assert fits_nothing(*numbers, LIMITS) is is_full


def test_a_full_queue_is_known_to_all_until_its_time_is_over(known: KnownRefusals, clock: Clock) -> None:
    before = known.refusal("one")
    told = known.note_full(FULL, BACKLOG_S)
    believed = known.refusal("one")
    clock.now_s += FULL_HOLDS_S + 0.01

    assert before is None
    assert str(believed).partition("; try")[0] == str(told).partition("; try")[0]
    assert num_asking(known) == 1000


def test_for_each_request_that_has_ended_another_asks_a_full_queue(known: KnownRefusals) -> None:
    known.note_full(FULL, BACKLOG_S)
    for _ in range(3):
        known.note_end()

    assert num_asking(known) == 3


@pytest.mark.parametrize(
    ("backlog_s", "waits_s", "asking"),  # in all the square of the sixteenths of its backlog that are over
    [
        (BACKLOG_S, (0.02, 0.02, 0.06, 0.4), [1, 3, 21, 600]),
        (0.0, (0.11,), [1000]),  # a sixteenth is a millisecond at least
        (0.16, (0.11,), [121]),
        (4000.0, (0.11,), [1]),  # and 100 ms at most
    ],
)
def test_the_longer_a_queue_was_not_known_to_be_full_and_the_less_it_holds_the_more_ask_it(
    known: KnownRefusals, clock: Clock, backlog_s: float, waits_s: tuple[float, ...], asking: list[int]
) -> None:
    known.note_full(FULL, backlog_s)
    asked = []
    for seconds in waits_s:
        clock.now_s += seconds + 1e-6
        asked.append(num_asking(known))

    assert asked == asking


def test_a_queue_that_is_full_again_lets_nobody_ask_at_once(known: KnownRefusals, clock: Clock) -> None:
    known.note_full(FULL, BACKLOG_S)
    known.note_end()
    clock.now_s += 0.1

    known.note_full(FULL, BACKLOG_S)

    assert num_asking(known) == 0


def test_what_one_client_was_refused_is_known_of_it_alone(known: KnownRefusals) -> None:
    known.note(lambda: RateLimited("its share", 1.0), 0.25, "one")

    assert isinstance(known.refusal("one"), RateLimited)
    assert known.refusal("other") is known.refusal() is None


def test_clients_without_number_do_not_fill_the_memory(known: KnownRefusals) -> None:
    for number in range(5000):
        known.note(lambda: RateLimited("its share", 1.0), 0.25, str(number))

    assert known.refusal("0") is None
    assert known.refusal("4999") is not None
