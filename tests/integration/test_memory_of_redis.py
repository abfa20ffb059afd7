"""What Redis keeps of requests is bounded: new ones are refused by the memory that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.errors import QueueFull
from scheduler.messages import Completion, FinishReason
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, answer, eventually, take
from tests.recorded_requests import a_record
from tests.scripted_queue import ScriptedQueue
from worker.pools.decode import DECODE_QUEUE
from worker.queue.api_loop import enqueue_command
from worker.queue.connection import RedisConnection, script
from worker.queue.formats import encode_submission
from worker.queue.protocol import MailboxLimits

USED = 1000  # bytes, of which a Redis without a limit of its own is said to have so many
WAITING, KEYED, ASYNC = {}, {"key": "key"}, {"is_async": True}


@pytest.fixture
def queue(private_redis: EmbeddedRedis) -> Iterator[ScriptedQueue]:
    with Redis.from_url(private_redis.url) as client:
        yield ScriptedQueue(client)


def one(queue: ScriptedQueue, name: str, **about: object) -> str:
    return queue.enqueue([a_request(name)], a_record(name, **about))


@pytest.mark.parametrize(("used_share", "refused"), [(0.4, []), (0.6, [KEYED, ASYNC]), (0.8, [WAITING, KEYED, ASYNC])])
def test_answers_that_are_kept_for_later_are_refused_at_half_of_the_memory_and_all_at_three_quarters(
    queue: ScriptedQueue, used_share: float, refused: list[dict[str, object]]
) -> None:
    queue.client.hset("miniserve:counts", mapping={"used_memory": USED, "max_memory": 0})
    queue.limits = replace(queue.limits, max_memory_bytes=int(USED / used_share))

    replies = [one(queue, f"r{number}", **about) for number, about in enumerate((WAITING, KEYED, ASYNC))]

    assert replies == ["memory" if about in refused else "accepted" for about in (WAITING, KEYED, ASYNC)]
    assert queue.observe().counts.get("refused_full", 0) == len(refused)


@pytest.mark.parametrize("by", ["beat", "report"])
def test_the_limit_of_redis_itself_goes_before_the_assumed_one(queue: ScriptedQueue, by: str) -> None:
    queue.client.config_set("maxmemory", "64mb")
    queue.beat("worker") if by == "beat" else queue.run(script("report", "process", 1, "1"))
    queue.limits = replace(queue.limits, max_memory_bytes=1)

    used, most = queue.client.hmget("miniserve:counts", "used_memory", "max_memory")

    assert (int(used) > 500_000, int(most)) == (True, 64 * 2**20)
    assert one(queue, "a") == "accepted"


def test_where_no_user_may_ask_for_the_memory_nothing_is_refused_for_it(queue: ScriptedQueue) -> None:
    queue.client.hset("miniserve:counts", mapping={"used_memory": 0, "max_memory": 0})
    queue.limits = replace(queue.limits, max_memory_bytes=1)

    assert one(queue, "a") == "accepted"


def test_a_refusal_for_want_of_memory_is_queue_full_and_says_when_to_come_back(house: RedisHouse) -> None:
    house.worker()
    client = house.connect()
    eventually(lambda: int(client.hget("miniserve:counts", "used_memory") or 0))

    with pytest.raises(QueueFull, match="MiB") as refusal:
        house.api(MailboxLimits(max_memory_bytes=24_000)).submit(a_request("a"))

    assert 1 <= refusal.value.retry_after_s <= 75


@pytest.mark.parametrize("about", [WAITING, KEYED], ids=["plain", "kept"])
def test_a_redis_whose_limit_was_lowered_a_moment_ago_refuses_for_want_of_memory(
    queue: ScriptedQueue, about: dict[str, object]
) -> None:
    queue.beat("worker")
    wanted = [replace(a_record(name, **about), requests=(a_request(name),), may_be_known=False) for name in "ab"]
    packed = [encode_submission(one, queue.limits) for one in wanted]
    connection = RedisConnection(queue.client)
    queue.client.config_set("maxmemory", 1)

    replies = connection.ask_one(enqueue_command("api", queue.limits, packed))

    connection.close()
    assert [(kind, most) for kind, _, most in replies] == [(b"memory", 1)] * 2
    assert not list(queue.client.scan_iter("rq:job:*"))


@pytest.mark.parametrize("end", ["finished", "failed"])
def test_only_what_may_run_again_keeps_its_data(house: RedisHouse, redis_url: str, end: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a", 100))
    take(worker)
    worker.exchange([an_answer("a") if end == "finished" else Completion("a", FinishReason.ERROR, error="x")], AMPLE)

    with Redis.from_url(redis_url) as client:
        assert (client.hstrlen("rq:job:a", "data") < 80) == (end == "finished")


def test_a_redis_that_is_full_of_answers_still_takes_and_ends_what_was_accepted(private_house: RedisHouse) -> None:
    redis = private_house.connect()
    redis.config_set("maxmemory", f"{int(redis.info('memory')['used_memory'] / 2**20) + 8}mb")
    api, worker = private_house.api(MailboxLimits(max_requests=100_000, max_tokens=10**8)), private_house.worker()
    waiting, accepted = api.submit(a_request("waiting")), 0
    with pytest.raises(QueueFull):  # by the number of a second ago, or by Redis itself
        while True:
            name = f"{accepted:032x}"
            api.submit_recorded(replace(a_record(name, is_async=True), document="x" * 30_000), [a_request(name)])
            accepted += 1

    taken = 0
    while batch := take(worker):
        answer(worker, *batch)
        taken += len(batch)

    assert taken >= accepted + 1 > 50
    assert api.wait(waiting).request_id == "waiting"
    redis.config_set("maxmemory", "0")


def test_a_client_that_leaves_a_redis_without_memory_leaves_nothing_in_the_queue(queue: ScriptedQueue) -> None:
    queue.accept("a")
    queue.client.config_set("maxmemory", 1)

    RedisConnection(queue.client).ask_one(script("cancel", "api", "cancelled", "a"))

    assert queue.client.zrange("rq:canceled:correct", 0, -1) == [b"a"]
    assert queue.client.llen("rq:queue:correct") == queue.client.hlen("miniserve:reservations") == 0


def test_what_a_prefill_worker_has_read_goes_on_in_a_redis_without_memory(queue: ScriptedQueue) -> None:
    queue.accept("a")
    queue.drain("reader")
    queue.run(script("resync", "writer", 1000, 1))
    queue.client.config_set("maxmemory", 1)

    connection = RedisConnection(queue.client)
    connection.ask_one(script("hand_over", "reader", 60_000, "a", b"keys and values"))
    about = (1000, 64, 0, 0, "0", 1, DECODE_QUEUE)
    *_, deliveries = connection.ask_one(script("drain", "writer", 1000, 1, *about))

    assert [row[0] for row in deliveries] == [b"a"]
