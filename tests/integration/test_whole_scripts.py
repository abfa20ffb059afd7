"""A script does all of its work or none of it, and one request of a packet never harms another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rq.job import Job
from rq.serializers import JSONSerializer

from scheduler.messages import NO_CAPACITY, FinishReason
from tests.mailbox_house import a_bare_submission, a_request
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue import formats
from worker.queue.api_link import enqueue_command
from worker.queue.connection import script
from worker.queue.protocol import MailboxLimits, Submission

LIMITS = MailboxLimits()


def wanted(name: str, **about: object) -> Submission:
    return replace(a_record(name, "key" if name == "keyed" else ""), **{"requests": (a_request(name),)} | about)


def send(queue: ScriptedQueue, *some: Submission) -> list[bytes]:
    return [reply[0] for reply in queue.send(some)]


def test_a_key_repeated_as_its_record_ends_harms_no_other_request(queue: ScriptedQueue) -> None:
    send(queue, wanted("keyed"))
    queue.drain("worker")
    queue.finish("worker", "keyed")
    queue.client.pexpire("miniserve:request:keyed", 450)  # TTL says 0 s

    replies = send(queue, wanted("before"), wanted("keyed"), wanted("behind"))

    assert (replies[0], replies[2]) == (b"accepted", b"accepted")
    assert {b"before", b"behind"} <= set(queue.client.lrange("rq:queue:correct", 0, -1))
    queue.observe()


def test_a_plain_job_that_an_operator_lets_run_twice_keeps_its_first_answer(queue: ScriptedQueue) -> None:
    queue.send([replace(a_bare_submission([a_request("a")], 30.0), may_be_known=False)])
    queue.drain("one")
    queue.client.hset("rq:job:a", "status", "queued")  # as a dashboard does, without a look at rq:wip
    queue.client.rpush("rq:queue:correct", "a")
    tickets, queue.tickets = queue.tickets, {}
    assert queue.drain("two") == ["a"]

    queue.finish("two", "a")
    queue.tickets = tickets
    queue.finish("one", "a")

    assert queue.client.xlen("rq:results:a") == 1
    assert queue.observe().counts["duplicates"] == 1  # and the counts balance


def test_a_claimed_job_that_rq_has_cancelled_counts_as_cancelled_and_is_forgotten(queue: ScriptedQueue) -> None:
    send(queue, wanted("a"))
    queue.drain("worker", NO_CAPACITY)
    queue.client.blmove("rq:queue:correct", "miniserve:claim:worker", 1)
    Job.fetch("a", connection=queue.client, serializer=JSONSerializer).cancel()

    assert queue.drain("worker") == []

    assert queue.observe().counts["cancelled"] == 1
    assert queue.client.ttl("rq:job:a") > 0


BAD_JOB = '{"id": "bad", "tokens": 9, "data": "x"}'
NO_REQUESTS = [
    b"junk", b"[]", b"7", b'{"is_plain": true}', b'{"is_plain": true, "jobs": [{"id": "bad", "tokens": null}]}',
    b'{"is_plain": true, "jobs": [%s], "client": "", "ttl": null, "within_s": 9}' % BAD_JOB.encode(),
    formats.encode_submission(wanted("bad", limits="no numbers"), LIMITS),
]  # fmt: skip


def test_what_is_no_request_harms_none_of_its_packet(queue: ScriptedQueue) -> None:
    good = [wanted(name, may_be_known=False, within_s=9.0) for name in ("before", "behind")]
    before, behind = (formats.encode_submission(one, LIMITS) for one in good)

    replies = queue.run(enqueue_command("api", LIMITS, [before, *NO_REQUESTS, behind]))

    assert [reply[0] for reply in replies] == [b"accepted", *len(NO_REQUESTS) * [b"fault"], b"accepted"]
    assert queue.client.lrange("rq:queue:correct", 0, -1) == [b"before", b"behind"]
    assert not list(queue.client.scan_iter("*:bad"))
    queue.observe()


@pytest.mark.parametrize("is_own", [True, False], ids=["the client's", "the server's"])
def test_only_a_deadline_that_the_server_set_is_an_error_when_it_is_missed(queue: ScriptedQueue, is_own: bool) -> None:
    own = ("own_deadline", 3) if is_own else ()

    queue.run(script("report", "api", 1, "1", "http:/correct:504", 3, *own))

    assert queue.observe().now.errors == (0 if is_own else 3)


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


def test_a_further_portion_that_waits_for_room_counts_as_no_refusal(queue: ScriptedQueue) -> None:
    queue.limits = MailboxLimits(max_requests=1)
    queue.accept("a")

    (reply,) = queue.send([wanted("b", is_further=True)])

    assert reply[0] == b"full" and queue.observe().now.refused == 0


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
