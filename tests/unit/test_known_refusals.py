"""For how long a process believes a refusal without asking again."""

from __future__ import annotations

from functools import partial

import pytest

from scheduler.errors import RateLimited
from worker.mailbox.admission import KnownRefusals, full_for_s, queue_full
from worker.mailbox.protocol import MailboxLimits

LIMITS = MailboxLimits(max_requests=10, max_tokens=1000)
FULL = partial(queue_full, 10, 500, 100.0, LIMITS)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def known(clock: Clock) -> KnownRefusals:
    return KnownRefusals(clock)


@pytest.mark.parametrize(
    ("numbers", "seconds"),
    [
        ((10, 500, 1000.0), 0.01),  # half a second of work
        ((10, 500, 50.0), 0.05),  # ten seconds of work
        ((3, 970, 100.0), 0.05),  # no room beside the tokens, not even for the shortest sentence
        ((3, 900, 100.0), 0.0),  # what was too long leaves room for what is shorter
        ((10, 500, 0.0), 0.0),  # no rate is known
    ],
)
def test_a_queue_is_full_for_a_fiftieth_of_its_backlog_and_never_over_50_ms(
    numbers: tuple[int, int, float], seconds: float
) -> None:
    assert full_for_s(*numbers, LIMITS) == pytest.approx(seconds)


def test_a_full_queue_is_known_to_all_until_its_time_is_over(known: KnownRefusals, clock: Clock) -> None:
    before = known.refusal("one")
    told = known.note(FULL, 0.05)
    believed = known.refusal("one")
    clock.now_s += 0.06

    assert before is None
    assert str(believed).partition("; try")[0] == str(told).partition("; try")[0]
    assert known.refusal("one") is None


def test_what_one_client_was_refused_is_known_of_it_alone(known: KnownRefusals) -> None:
    known.note(lambda: RateLimited("its share", 1.0), 0.25, "one")

    assert isinstance(known.refusal("one"), RateLimited)
    assert known.refusal("other") is known.refusal() is None


def test_clients_without_number_do_not_fill_the_memory(known: KnownRefusals) -> None:
    for number in range(5000):
        known.note(lambda: RateLimited("its share", 1.0), 0.25, str(number))

    assert known.refusal("0") is None
    assert known.refusal("4999") is not None
