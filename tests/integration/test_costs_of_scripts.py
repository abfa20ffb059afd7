"""What a script must not ask of Redis, which serves nobody else meanwhile."""

from __future__ import annotations

from scheduler.messages import FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, a_request, eventually
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.queue.protocol import MAX_DATA_BYTES, CancelResult, MailboxLimits
from worker.queue.redis_observer import Phase


def calls(queue: ScriptedQueue, command: str) -> int:
    """Since the last CONFIG RESETSTAT."""
    return queue.client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]


def test_a_worker_that_is_nearly_full_reads_few_ids_of_a_long_queue(queue: ScriptedQueue) -> None:
    for number in range(100):
        queue.enqueue([a_request(f"a{number}")], a_record(f"a{number}", is_async=True))
    queue.accept(*[f"w{number}" for number in range(200)])

    assert queue.num_ids_read("worker", FreeCapacity(100)) < 50


def test_a_script_delivers_no_more_than_four_mebibytes(queue: ScriptedQueue) -> None:
    names = [f"w{number}" for number in range(70)]
    queue.accept(*names)
    for name in names:
        queue.client.hset(f"rq:job:{name}", "data", bytes(MAX_DATA_BYTES))

    assert [queue.drain("worker"), queue.drain("worker")] == [names[:64], names[64:]]


def test_the_head_of_the_second_queue_is_read_once_where_it_does_not_fit(queue: ScriptedQueue) -> None:
    queue.enqueue([a_request("a", 10, 10_000)], a_record("a", is_async=True))
    queue.accept(*[f"w{number}" for number in range(60)])
    queue.client.config_resetstat()

    taken = queue.drain("worker", FreeCapacity(42 * 60))

    assert len(taken) == 60
    assert calls(queue, "hmget") < 60 + 10


def test_a_queue_that_is_half_empty_looks_at_no_reservation(queue: ScriptedQueue) -> None:
    queue.limits = MailboxLimits(max_requests=32)
    queue.client.config_resetstat()
    for number in range(16):
        queue.enqueue([a_request(f"r{number}")], a_record(f"r{number}", client=str(number % 2)))
    before = calls(queue, "hvals")
    queue.enqueue([a_request("more")], a_record("more", client="1"))

    assert (before, calls(queue, "hvals")) == (0, 1)


def test_an_exchange_without_news_is_one_script_that_asks_redis_for_little(
    house: RedisHouse, queue: ScriptedQueue
) -> None:
    worker = house.worker()
    worker.exchange((), AMPLE)
    queue.client.config_resetstat()

    for _ in range(200):
        worker.exchange((), AMPLE)

    assert 200 <= calls(queue, "evalsha") < 240  # the heartbeat sends one now and then, too
    assert sum(each["calls"] for each in queue.client.info("commandstats").values()) < 10 * 200


def test_http_requests_of_one_packet_are_accepted_up_to_the_bound_by_one_script(
    house: RedisHouse, queue: ScriptedQueue
) -> None:
    api = house.api(MailboxLimits(max_requests=3))
    wanted = [api.recorded(a_record(name), [a_request(name)]) for name in "abcde"]
    queue.client.config_resetstat()

    api.enqueue(*wanted)

    eventually(lambda: all(one.run_id or any(one.outcomes.values()) for one in wanted))
    assert [bool(one.run_id) for one in wanted] == [True, True, True, False, False]
    assert calls(queue, "evalsha") == 1


def test_a_request_of_many_sentences_is_found_and_cancelled_by_one_script_each(
    house: RedisHouse, queue: ScriptedQueue
) -> None:
    api, names = house.api(), [f"r-{number}" for number in range(1, 65)]
    api.submit_recorded(a_record("r", is_async=True), [a_request(name) for name in names])
    queue.client.config_resetstat()

    found, ended = api.find("r"), api.cancel_all(names)

    assert [job.state for job in found.jobs] == 64 * [Phase.QUEUED]
    assert ended == 64 * [CancelResult.CANCELLED]
    assert calls(queue, "evalsha") == 2
