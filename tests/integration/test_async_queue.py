"""Asynchronous requests wait in a queue of their own; how much of it a worker takes beside others."""

from __future__ import annotations

from collections.abc import Sequence

from redis import Redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, answer, eventually, take
from tests.recorded_requests import a_record


def submit_async(api: SubmittingMailbox, *names: str) -> None:
    for name in names:
        api.submit_recorded(a_record(name, is_async=True), [a_request(name)])


def some(prefix: str, number: int) -> list[str]:
    return [f"{prefix}{at}" for at in range(number)]


def kinds(names: Sequence[str]) -> str:
    return "".join(name[0] for name in names)


def test_rqs_tools_find_cancel_and_delete_what_waits_in_the_second_queue(house: RedisHouse, client: Redis) -> None:
    api, waiting = house.api(), Queue("correct-async", connection=client, serializer=JSONSerializer)
    submit_async(api, "a", "b", "c")

    jobs = {job.id: job for job in waiting.jobs}
    positions = [jobs[name].get_position() for name in jobs]
    jobs["a"].cancel()
    jobs["b"].delete()
    left = waiting.get_job_ids()
    house.worker()  # its heart looks after what was changed from outside
    eventually(lambda: api.status().reserved_requests == 1)

    assert (list(jobs), positions, left) == (["a", "b", "c"], [0, 1, 2], ["c"])
    assert Job.fetch("a", connection=client, serializer=JSONSerializer).get_status().value == "canceled"
    assert 0 < client.ttl("rq:job:a") <= 600
    assert not client.exists("rq:canceled:correct-async", "rq:job:b")


def test_while_others_wait_asynchronous_requests_hold_a_quarter_of_the_slots_and_all_when_they_have_ended(
    house: RedisHouse,
) -> None:
    api, worker = house.api(), house.worker()
    submit_async(api, *some("a", 40))
    api.submit_all([a_request(name) for name in some("w", 30)])

    taken = take(worker, free_tokens=4096)  # room for 25 of the longest requests
    more = take(worker, free_tokens=4096 - 42 * len(taken))
    answer(worker, *[name for name in taken if name[0] == "a"][-3:])
    again = take(worker, free_tokens=3000)
    answer(worker, *some("w", 30))
    alone = take(worker, free_tokens=4096 - 6 * 42)

    assert (kinds(taken), more, kinds(again), kinds(alone)) == (6 * "a" + 30 * "w", [], "aaa", 31 * "a")


def test_a_worker_with_one_slot_takes_turns(house: RedisHouse) -> None:
    api, worker, taken = house.api(), house.worker(), []
    submit_async(api, *some("a", 10))
    api.submit_all([a_request(name) for name in some("w", 10)])

    for _ in range(8):
        taken += (names := take(worker, free_tokens=50))
        answer(worker, *names)

    assert kinds(taken) == 4 * "aw"
