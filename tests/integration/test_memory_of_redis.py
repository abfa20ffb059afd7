"""What Redis keeps of requests is bounded: new ones are refused by the memory that it uses."""

from __future__ import annotations

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.errors import QueueFull
from scheduler.messages import Completion, FinishReason
from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, eventually, take
from tests.scripted_queue import ScriptedQueue
from worker.queue.connection import script
from worker.queue.protocol import MailboxLimits


@pytest.mark.parametrize("by", ["beat", "report"])
def test_the_limit_of_redis_itself_goes_before_the_assumed_one(private_redis: EmbeddedRedis, by: str) -> None:
    queue = ScriptedQueue(Redis.from_url(private_redis.url))
    queue.client.config_set("maxmemory", "64mb")
    queue.beat("worker") if by == "beat" else queue.run(script("report", "process", 1, "1"))
    queue.limits = MailboxLimits(max_memory_bytes=1)

    used, most = queue.client.hmget("miniserve:counts", "used_memory", "max_memory")

    assert (int(used) > 500_000, int(most)) == (True, 64 * 2**20)
    assert queue.accept("a") == "accepted"


def test_a_refusal_for_want_of_memory_is_queue_full_and_says_when_to_come_back(house: RedisHouse) -> None:
    house.worker()
    client = house.connect()
    eventually(lambda: int(client.hget("miniserve:counts", "used_memory") or 0))

    with pytest.raises(QueueFull, match="MiB") as refusal:
        house.api(MailboxLimits(max_memory_bytes=24_000)).submit(a_request("a"))

    assert 1 <= refusal.value.retry_after_s <= 75


def test_a_refusal_by_a_redis_that_is_full_is_queue_full_too(private_house: RedisHouse) -> None:
    private_house.worker()
    api, client = private_house.api(), private_house.connect()
    used = client.info("memory")["used_memory"]
    client.config_set("maxmemory", used // 2)  # the beat reads it
    eventually(lambda: int(client.hget("miniserve:counts", "max_memory") or 0))

    with pytest.raises(QueueFull, match="MiB"):
        api.submit(a_request("a"))

    client.config_set("maxmemory", 0)


@pytest.mark.parametrize("end", ["finished", "failed"])
def test_only_what_may_run_again_keeps_its_data(house: RedisHouse, redis_url: str, end: str) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("a", 100))
    take(worker)
    worker.exchange([an_answer("a") if end == "finished" else Completion("a", FinishReason.ERROR, error="x")], AMPLE)

    with Redis.from_url(redis_url) as client:
        assert (client.hstrlen("rq:job:a", "data") < 80) == (end == "finished")
