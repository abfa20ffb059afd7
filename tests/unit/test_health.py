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


WAITING = replace(WELL, num_waiting=2, oldest_waiting_s=3.0)
STUCK = replace(WAITING, num_running=3, oldest_waiting_s=4.0)
LEAKY = replace(WELL, workers=(WorkerFacts("a", 0, 0, 96), WorkerFacts("b", 2, 0, 320), WorkerFacts("c", 1, 0, 161)))


@pytest.mark.parametrize(
    ("observed", "figure", "value"),
    [
        # Waiting alone is no lack of progress: a long queue, no worker (an alert of its own), slow answers.
        (replace(WELL, num_waiting=5, num_running=1, oldest_waiting_s=9.0), "stuck_s", 0.0),
        (replace(WELL, num_waiting=5, workers=(), oldest_waiting_s=9.0), "stuck_s", 0.0),
        (after(3.0, replace(WELL, num_waiting=5, num_running=1, oldest_waiting_s=9.0), done=1), "stuck_s", 0.0),
        # What waits or is held while nothing runs; what runs while nothing is answered for three seconds.
        (WAITING, "stuck_s", 3.0),
        (replace(WELL, num_waiting=2, oldest_running_s=4.0), "stuck_s", 4.0),
        (after(3.0, STUCK, failed=5), "stuck_s", 4.0),
        (after(1.0, STUCK), "stuck_s", 0.0),
        # Sentences that end without an answer, or 5xx, whichever is the larger share; one among a few is no share.
        (after(10.0, done=96, failed=4, replies=90, errors=10), "failing_share", 0.1),
        (after(10.0, done=90, failed=10, replies=96, errors=4), "failing_share", 0.1),
        (after(10.0, done=8, failed=1, replies=8, errors=1), "failing_share", 0.0),
        (after(60.0, failed=100), "failing_share", 0.0),
        # Tokens beyond what running sequences can hold.
        (LEAKY, "leaked_tokens", 97),
        (after(5.0, loop_ticks=40, loop_late_s=10.0), "api_late_s", 0.25),
        # Of those that came through.
        (after(10.0, iterations={"requests": 20.0, "queue_s": 30.0}), "queue_time_s", 1.5),
        (after(10.0, iterations={"queue_s": 30.0}), "queue_time_s", 0.0),
        # A limit, and another policy.
        (replace(WELL, redis_max_memory_bytes=100, redis_policy="allkeys-lru"), "redis_evicts", True),
        (replace(WELL, redis_max_memory_bytes=100, redis_policy="noeviction"), "redis_evicts", False),
        (replace(WELL, redis_max_memory_bytes=100, redis_policy=""), "redis_evicts", False),
        (replace(WELL, redis_max_memory_bytes=0, redis_policy="allkeys-lru"), "redis_evicts", False),
    ],
)
def test_each_figure_says_what_is_wrong_and_nothing_of_what_is_well(
    observed: Observed, figure: str, value: float
) -> None:
    assert getattr(health_of(observed), figure) == value
