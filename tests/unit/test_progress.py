"""What /readyz makes of the counts of the whole system."""

from __future__ import annotations

from scheduler.capacity.progress import Progress


def told(*looks: tuple[float, int, int, int]) -> Progress:
    """After looks of: time, open, done, failed."""
    subject = Progress()
    for look in looks:
        subject.note(*look)
    return subject


def test_open_requests_of_which_none_is_answered_are_stuck_since_the_last_answer() -> None:
    assert told((100.0, 5, 7, 0), (101.0, 5, 8, 0), (102.0, 6, 8, 1), (104.5, 6, 8, 9)).stuck_s == 3.5


def test_requests_that_come_to_an_idle_system_are_not_stuck_for_the_time_before() -> None:
    assert told((100.0, 0, 7, 0), (160.0, 0, 7, 0), (161.0, 5, 7, 0)).stuck_s == 1.0


def test_what_a_new_process_finds_is_stuck_from_its_first_look_on() -> None:
    assert told((100.0, 5, 7, 0)).stuck_s == 0.0


def test_failures_of_the_last_ten_seconds_are_a_share_of_what_ended() -> None:
    assert told((100.0, 5, 0, 0), (109.0, 5, 60, 20)).failing_share == 0.25
    assert told((100.0, 5, 0, 0), (101.0, 5, 0, 20), (112.0, 5, 80, 20)).failing_share == 0.0


def test_a_redis_that_was_emptied_begins_anew() -> None:
    subject = told((100.0, 5, 1000, 400), (101.0, 1, 2, 1))

    assert (subject.failing_share, subject.stuck_s) == (0.0, 0.0)
