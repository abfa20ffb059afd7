"""What is told of a system that does not answer as it should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler.capacity.health import Health, health_of
from scheduler.capacity.observed import Moment, Observed, WorkerFacts

WELL = Observed(now=Moment(at_s=100.0), workers=(WorkerFacts("a"),))


def after(seconds: float, observed: Observed = WELL, **grown: Any) -> Observed:
    """A system that counted so much more in that time."""
    begin = replace(observed.now, at_s=observed.now.at_s - seconds)
    return replace(observed, history=(begin,), now=replace(observed.now, **grown))


def test_a_system_of_which_nothing_is_known_is_well() -> None:
    assert health_of(Observed(now=Moment(at_s=0.0))) == health_of(WELL) == Health()


@pytest.mark.parametrize(
    "observed",
    [
        replace(WELL, num_waiting=5, num_running=1, oldest_waiting_s=9.0),  # a long queue
        replace(WELL, num_waiting=5, workers=(), oldest_waiting_s=9.0),  # an alert of its own
        after(3.0, replace(WELL, num_waiting=5, num_running=1, oldest_waiting_s=9.0), done=1),  # slow, but it goes on
    ],
)
def test_waiting_alone_is_no_lack_of_progress(observed: Observed) -> None:
    assert health_of(observed).stuck_s == 0.0


def test_what_waits_or_is_held_while_nothing_runs_lacks_progress() -> None:
    in_line = replace(WELL, num_waiting=2, oldest_waiting_s=3.0)
    held = replace(WELL, num_waiting=2, oldest_running_s=4.0)

    assert (health_of(in_line).stuck_s, health_of(held).stuck_s) == (3.0, 4.0)


def test_workers_that_run_something_and_answer_nothing_for_three_seconds_make_no_progress() -> None:
    waiting = replace(WELL, num_waiting=2, num_running=3, oldest_waiting_s=4.0)

    assert health_of(after(3.0, waiting, failed=5)).stuck_s == 4.0
    assert health_of(after(1.0, waiting)).stuck_s == 0.0


def test_answers_fail_by_sentences_that_end_without_one_or_by_5xx_whichever_is_the_larger_share() -> None:
    assert health_of(after(10.0, done=96, failed=4, replies=90, errors=10)).failing_share == 0.1
    assert health_of(after(10.0, done=90, failed=10, replies=96, errors=4)).failing_share == 0.1


def test_one_failure_among_a_few_answers_is_no_share() -> None:
    assert health_of(after(10.0, done=8, failed=1, replies=8, errors=1)).failing_share == 0.0


def test_failures_of_before_the_window_are_forgotten() -> None:
    assert health_of(after(60.0, failed=100)).failing_share == 0.0


def test_tokens_beyond_what_running_sequences_can_hold_are_leaked() -> None:
    workers = (WorkerFacts("a", 0, 0, 96), WorkerFacts("b", 2, 0, 320), WorkerFacts("c", 1, 0, 161))

    assert health_of(replace(WELL, workers=workers)).leaked_tokens == 97


def test_the_lateness_of_the_api_is_the_mean_over_its_ticks() -> None:
    assert health_of(after(5.0, loop_ticks=40, loop_late_s=10.0)).api_late_s == 0.25


def test_the_time_in_the_queue_is_the_mean_of_those_that_came_through() -> None:
    assert health_of(after(10.0, iterations={"requests": 20.0, "queue_s": 30.0})).queue_time_s == 1.5
    assert health_of(after(10.0, iterations={"queue_s": 30.0})).queue_time_s == 0.0


@pytest.mark.parametrize(
    ("limit", "policy", "evicts"),
    [(100, "allkeys-lru", True), (100, "noeviction", False), (100, "", False), (0, "allkeys-lru", False)],
)
def test_a_redis_evicts_only_where_it_has_a_limit_and_another_policy(limit: int, policy: str, evicts: bool) -> None:
    observed = replace(WELL, redis_max_memory_bytes=limit, redis_policy=policy)

    assert health_of(observed).redis_evicts is evicts
