"""Asynchronous requests wait in a queue of their own, behind those that somebody waits for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from redis import Redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from scheduler.errors import DeadlineExceeded
from scheduler.messages import NO_CAPACITY, Completion, FinishReason, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, SubmittingMailbox, a_request, answer, eventually, ids_of, take
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue.connection import RedisConnection, script
from worker.queue.protocol import WorkerReport
from worker.queue.worker_end import WorkerMailbox

QUEUE = "rq:queue:correct-async"


@pytest.fixture
def client(redis_url: str) -> Redis:
    return Redis.from_url(redis_url)


@pytest.fixture
def worker(house: RedisHouse) -> WorkerMailbox:
    return house.worker()


def submit_async(api: SubmittingMailbox, *names: str) -> None:
    for name in names:
        api.submit_recorded(a_record(name, is_async=True), [a_request(name)])


def some(prefix: str, number: int) -> list[str]:
    return [f"{prefix}{at}" for at in range(number)]


def kinds(names: Sequence[str]) -> str:
    return "".join(name[0] for name in names)


def test_an_asynchronous_request_waits_in_the_second_queue(house: RedisHouse, client: Redis) -> None:
    api = house.api()
    api.submit(a_request("w"))
    submit_async(api, "a")

    queue = Queue("correct-async", connection=client, serializer=JSONSerializer)
    assert queue.get_job_ids() == ["a"]
    assert Job.fetch("a", connection=client, serializer=JSONSerializer).get_status() == "queued"
    assert client.lrange("rq:queue:correct", 0, -1) == [b"w"]
    assert api.status().queue_depth == api.observe().queue_depth == 2


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
    assert fetch_state(client, "a") == "canceled" and 0 < client.ttl("rq:job:a") <= 600
    assert not client.exists("rq:canceled:correct-async", "rq:job:b")


def test_an_asynchronous_dead_letter_can_be_put_back_with_rqs_tools(
    house: RedisHouse, worker: WorkerMailbox, client: Redis
) -> None:
    submit_async(house.api(), "a")
    assert take(worker) == ["a"]
    worker.exchange([Completion("a", FinishReason.ERROR, error="x")], NO_CAPACITY)

    Job.fetch("a", connection=client, serializer=JSONSerializer).requeue()

    assert take(worker) == ["a"]


def fetch_state(client: Redis, name: str) -> str:
    return Job.fetch(name, connection=client, serializer=JSONSerializer).get_status().value


def test_while_others_wait_asynchronous_requests_hold_a_quarter_of_the_slots(
    house: RedisHouse, worker: WorkerMailbox
) -> None:
    api = house.api()
    submit_async(api, *some("a", 40))
    api.submit_all([a_request(name) for name in some("w", 30)])

    taken = take(worker, free_tokens=4096)  # room for 25 of the longest requests
    more = take(worker, free_tokens=4096 - 42 * len(taken))
    answer(worker, *[name for name in taken if name[0] == "a"][-3:])
    again = take(worker, free_tokens=3000)

    assert (kinds(taken), more, kinds(again)) == (6 * "a" + 30 * "w", [], "aaa")


def test_a_worker_that_is_nearly_full_reads_few_ids_of_a_long_queue(queue: ScriptedQueue) -> None:
    for name in some("a", 100):
        queue.enqueue([a_request(name)], a_record(name, is_async=True))
    queue.accept(*some("w", 200))

    assert queue.num_ids_read("worker", FreeCapacity(100)) < 50


def test_the_head_of_the_second_queue_is_read_once_where_it_does_not_fit(queue: ScriptedQueue) -> None:
    queue.enqueue([a_request("a", 10, 10_000)], a_record("a", is_async=True))
    queue.accept(*some("w", 60))
    queue.client.config_resetstat()

    taken = queue.drain("worker", FreeCapacity(42 * 60))

    assert len(taken) == 60
    assert queue.client.info("commandstats")["cmdstat_hmget"]["calls"] < 60 + 10


def test_a_worker_with_one_slot_takes_turns(house: RedisHouse, worker: WorkerMailbox) -> None:
    api, taken = house.api(), []
    submit_async(api, *some("a", 10))
    api.submit_all([a_request(name) for name in some("w", 10)])

    for _ in range(8):
        taken += (names := take(worker, free_tokens=50))
        answer(worker, *names)

    assert kinds(taken) == 4 * "aw"


def test_where_nobody_else_waits_all_that_fits_is_taken(
    house: RedisHouse, worker: WorkerMailbox, client: Redis
) -> None:
    api = house.api()
    submit_async(api, *some("a", 10))

    assert take(worker, free_tokens=42 * 7) == some("a", 7)
    assert client.llen(QUEUE) == 3


def test_one_fits_beside_others_however_small_the_cache_is(house: RedisHouse, worker: WorkerMailbox) -> None:
    api = house.api()
    api.submit_all([a_request(name) for name in some("w", 9)])
    submit_async(api, *some("a", 9))

    assert kinds(take(worker, free_tokens=320)) == "awwwwww"


def test_all_slots_are_theirs_again_when_the_others_have_ended(house: RedisHouse, worker: WorkerMailbox) -> None:
    api = house.api()
    api.submit(a_request("w"))
    submit_async(api, *some("a", 40))
    beside = take(worker, free_tokens=4096)
    answer(worker, "w")

    alone = take(worker, free_tokens=4096 - 6 * 42)

    assert (kinds(beside), len(alone)) == (6 * "a" + "w", 34)


def test_an_idle_worker_finds_them_though_its_claim_stands_on_the_other_queue(house: RedisHouse) -> None:
    api, worker = house.api(), WorkerMailbox(house.connect())
    worker.open(lambda: True)
    try:
        worker.exchange((), AMPLE)
        submit_async(api, "a")
        found = eventually(lambda: worker.exchange((), AMPLE, wait_s=0.5).deliveries)
    finally:
        worker.close()

    assert [delivery.request.request_id for delivery in found] == ["a"]


def test_what_is_cancelled_leaves_the_second_queue_and_is_taken_by_nobody(
    house: RedisHouse, worker: WorkerMailbox, client: Redis
) -> None:
    api = house.api()
    submit_async(api, "a", "b")

    api.cancel("a")

    assert client.lrange(QUEUE, 0, -1) == [b"b"]
    assert take(worker) == ["b"]


def test_a_look_at_all_places_finds_them_where_they_are(house: RedisHouse, client: Redis) -> None:
    submit_async(house.api(), *some("a", 3))
    connection = RedisConnection(house.connect())

    changed = connection.ask_one(script("beat", "w", 2, "0.0", 0, "1.0", "role", "all"))[5]
    connection.close()

    assert (changed, client.llen(QUEUE), client.llen("rq:queue:correct")) == (0, 3, 0)


def test_what_a_dead_worker_held_is_run_by_another(house: RedisHouse, client: Redis) -> None:
    api, one = house.api(), house.worker()
    submit_async(api, *some("a", 3))
    assert len(take(one)) == 3
    house.kill(one)
    two = house.worker()

    answered: list[str] = []
    while len(answered) < 3:
        names = take(two)
        answer(two, *names)
        answered += names

    assert sorted(answered) == some("a", 3)
    assert api.status().reserved_requests == 0


def test_a_request_that_does_not_fit_is_not_overtaken(house: RedisHouse, worker: WorkerMailbox) -> None:
    api = house.api()
    api.submit(a_request("w", 100))
    submit_async(api, "a")

    inbox = worker.exchange((), FreeCapacity(50))

    assert (ids_of(inbox), inbox.deferred_id) == ([], "w")


def test_a_group_of_suspects_is_not_broken_up_by_an_asynchronous_turn(house: RedisHouse, worker: WorkerMailbox) -> None:
    api, names, drains = house.api(), some("w", 81), []
    api.submit_all([a_request(name) for name in names])
    assert take(worker) == names
    house.kill(worker)
    submit_async(api, "a1", "a2")
    successor = house.worker()

    while taken := take(successor):
        drains.append(kinds(taken))
        answer(successor, *taken)

    assert [drain for drain in drains if "w" in drain] == 9 * ["wwwwwwwww"]


def test_what_nobody_waits_for_makes_no_deadline_of_others_too_late(house: RedisHouse) -> None:
    api = house.api()
    worker = house.worker(lambda: WorkerReport(service_rate_tokens_per_s=4.2))
    assert eventually(lambda: api.status().service_rate_tokens_per_s) == 4.2
    api.submit(a_request("w"))
    submit_async(api, *some("a", 20))

    accepted = api.submit(a_request("soon"), within_s=30.0)

    assert accepted.request_id == "soon"
    with pytest.raises(DeadlineExceeded):
        api.submit(a_request("later"), within_s=20.0)
    assert "soon" in take(worker)
