"""Little's law's two sums and the counts of ends, in Redis, against scenarios computed by hand."""

from __future__ import annotations

import pytest

from scheduler.messages import FinishReason
from tests.scripted_queue import START_S, ScriptedQueue
from worker.queue.protocol import MailboxLimits


def test_the_area_is_the_number_in_the_system_over_time_and_stay_the_times_of_those_that_ended(
    queue: ScriptedQueue,
) -> None:
    queue.beat("w")
    queue.accept("a")
    queue.now_s = 2.0  # one for 2 s
    queue.accept("b", "c")
    assert queue.drain("w") == ["a", "b", "c"]
    queue.now_s = 5.0  # three for 3 s
    queue.finish("w", "a")
    queue.now_s = 6.5  # two for 1.5 s
    queue.finish("w", "b", "c")
    queue.now_s = 60.0
    queue.beat("w")

    seen = queue.observe()

    assert seen.now.area_s == pytest.approx(2 + 9 + 3, abs=1e-5)
    assert seen.now.stay_s == pytest.approx(5.0 + 4.5 + 4.5, abs=1e-5)
    assert (seen.now.at_s, seen.now.accepted, seen.now.ended) == (START_S + 60.0, 3, 3)


def test_the_area_grows_between_two_looks_without_any_request_moving(queue: ScriptedQueue) -> None:
    queue.accept("a", "b")
    areas = []
    for queue.now_s in (1.0, 2.0, 4.5):
        areas.append(queue.observe().now.area_s)

    assert areas == pytest.approx([2.0, 4.0, 9.0], abs=1e-5)


@pytest.mark.parametrize("notices_first", ["beat", "drain"])
def test_a_dead_letter_put_back_by_the_dashboard_has_its_time_from_then_on(
    queue: ScriptedQueue, notices_first: str
) -> None:
    queue.beat("w")
    queue.accept("dead")
    assert queue.drain("w") == ["dead"]
    queue.now_s = 1.0
    queue.finish("w", "dead", reason=FinishReason.ERROR)

    queue.now_s = 86_400.0  # a day later, as rq-dashboard does it
    queue.client.zrem("rq:failed:correct", "dead")
    queue.client.hset("rq:job:dead", "status", "queued")
    queue.client.rpush("rq:queue:correct", "dead")
    if notices_first == "beat":
        queue.beat("w")
    queue.now_s += 0.5
    waited_us = queue.delivered("w")[2]
    queue.now_s += 0.5
    queue.finish("w", "dead")

    seen = queue.observe()

    assert waited_us <= 500_000, "or the queue time of all others is lost in it"
    assert (seen.counts["accepted"], seen.counts["failed"], seen.counts["done"]) == (2, 1, 1)
    assert seen.now.stay_s == pytest.approx(seen.now.area_s, abs=1e-5)
    assert seen.now.stay_s <= 2.0


@pytest.mark.parametrize("place", ["queued", "started"])
def test_what_was_deleted_and_is_sent_again_at_once_counts_as_removed_and_accepted(
    queue: ScriptedQueue, place: str
) -> None:
    queue.accept("a")
    queue.beat("w")
    if place == "started":
        queue.drain("w")
    queue.client.delete("rq:job:a")
    queue.client.lrem("rq:queue:correct", 1, "a")

    queue.accept("a")  # before a beat has found out; `observe` compares the counts
    again = queue.observe()
    queue.finish("w", "a")  # what was deleted while it ran
    assert queue.drain("w") == ["a"]
    queue.finish("w", "a")

    end = queue.observe()
    assert again.counts["reserved_requests"] == 1 and end.counts["reserved_requests"] == 0
    assert (end.counts["removed"], end.counts["done"], end.now.accepted) == (1, 1, 2)


def test_an_answer_to_what_was_never_reserved_counts_nowhere(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.accept("a")
    queue.drain("w")
    queue.client.delete("miniserve:reservations")

    queue.finish("w", "a", reason=FinishReason.LENGTH)

    counts = {name: float(count) for name, count in queue.client.hgetall("miniserve:counts").items()}
    assert counts.get(b"done_length", 0) <= counts.get(b"done", 0), "or miniserve_request_success_total is negative"


def test_who_is_refused_by_a_replica_that_knew_counts_as_offered_load_too(queue: ScriptedQueue) -> None:
    queue.client.hset("miniserve:totals", "rejected:queue-full", 4)
    queue.limits = MailboxLimits(max_requests=1)
    queue.accept("a")

    assert queue.accept("b") == "full"

    assert queue.observe().now.refused == 1 + 4


def test_so_many_open_requests_that_their_times_fill_64_bits_do_not_stop_the_next(queue: ScriptedQueue) -> None:
    queue.client.hset("miniserve:counts", "law_us", -(2**63) + 1)
    queue.now_s = 1_000_000.0
    before = queue.observe().now

    assert queue.accept("a") == "accepted"
    queue.now_s += 60.0

    assert queue.observe().now.area_s - before.area_s == pytest.approx(60.0, abs=0.5)


def test_a_job_that_was_pushed_by_another_tool_gives_back_what_was_reserved_when_it_began(queue: ScriptedQueue) -> None:
    queue.beat("w")
    queue.client.hset("rq:job:foreign", mapping={"data": "junk", "status": "queued"})
    queue.client.rpush("rq:queue:correct", "foreign")
    assert queue.drain("w") == ["foreign"]

    queue.finish("w", "foreign", reason=FinishReason.ERROR)

    assert queue.client.hlen("miniserve:reservations") == 0
    assert queue.observe().counts["failed"] == 1
