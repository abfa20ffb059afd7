"""What could not end in time is not begun, so that an overloaded worker answers those it can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.messages import FinishReason, FreeCapacity
from tests.mailbox_house import a_bare_submission, a_request
from tests.scripted_queue import ScriptedQueue
from worker.queue.connection import script
from worker.queue.protocol import READY_WITHIN_S
from worker.queue.replies import status_of


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


@pytest.mark.parametrize("is_own", [True, False], ids=["the client's", "the server's"])
def test_only_a_deadline_that_the_server_set_is_a_failure_when_it_is_missed(queue: ScriptedQueue, is_own: bool) -> None:
    for name in ("waits", "runs", "is left"):
        wanted = replace(a_bare_submission([a_request(name.split()[0])], within_s=1.0), may_be_known=False)
        wanted.is_own_deadline = is_own
        queue.send([wanted])
    queue.drain("w", FreeCapacity(50))
    queue.now_s = 2.0
    queue.run(script("report", "api", 1, "1", "http:/correct:504", 3, *(("own_deadline", 3) if is_own else ())))

    queue.cancel("is", FinishReason.EXPIRED)
    queue.finish("w", "waits", reason=FinishReason.EXPIRED)
    queue.drain("w")

    now, status = queue.observe().now, status_of(queue.run(script("status", READY_WITHIN_S)))
    assert queue.observe().counts["expired"] == 3
    assert (now.failed, now.errors, status.num_failed) == ((0, 0, 0) if is_own else (3, 3, 3))
