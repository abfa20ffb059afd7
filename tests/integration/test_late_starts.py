"""What could not end in time is not begun, so that an overloaded worker answers those it can."""

from __future__ import annotations

from tests.scripted_queue import ScriptedQueue


def counts(queue: ScriptedQueue) -> dict[str, float]:
    return {name.decode(): float(value) for name, value in queue.client.hgetall("miniserve:counts").items()}


def test_who_would_be_late_beside_others_is_dropped_before_it_costs_a_token(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("first")
    queue.drain("w")
    queue.accept("tight", within_s=0.9)
    queue.accept("ample", within_s=5.0)
    queue.accept("endless")

    delivered = queue.drain("w", num_held=1, service_s=1.0)

    assert delivered == ["ample", "endless"]
    assert counts(queue)["expired_waiting"] == 1
    assert queue.observe().num_running == 3


def test_a_worker_that_holds_nothing_begins_what_may_yet_be_in_time(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("tight", within_s=0.9)

    assert queue.drain("w", num_held=0, service_s=1.0) == ["tight"]


def test_a_worker_of_an_earlier_version_says_nothing_of_its_time(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("first")
    queue.drain("w")
    queue.accept("tight", within_s=0.9)

    assert queue.drain("w", num_held=1, service_s="") == ["tight"]
