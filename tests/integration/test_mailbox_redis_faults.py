"""Redis that dies, forgets or drops connections, and operators who change the queue by hand."""

from __future__ import annotations

import os
import signal

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.errors import NotReady
from tests.mailbox_house import (
    AMPLE,
    RedisHouse,
    a_request,
    an_answer,
    take,
    unblocked,
)
from worker.queue import api_link
from worker.queue.protocol import MailboxDown


def kill(server: EmbeddedRedis) -> None:
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()


def test_answers_arrive_although_every_subscription_is_cut(
    house: RedisHouse, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_link, "POLL_S", 60.0)  # only the sweep on subscribing again can find them
    api, worker = house.api(), house.worker()
    tickets = [api.submit(a_request(f"r{number}")) for number in range(10)]
    names = take(worker)

    for name in names:
        client.client_kill_filter(_type="pubsub")
        worker.exchange([an_answer(name)], AMPLE)
    answered = [api.wait(ticket).request_id for ticket in tickets]

    assert answered == names


def test_an_answer_nobody_published_is_found_by_the_poll(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    ticket = api.submit(a_request("a"))
    client.hset("rq:job:a", "reply_to", "")
    assert take(worker) == ["a"]

    worker.exchange([an_answer("a")], AMPLE)

    assert api.wait(ticket) == an_answer("a")


def test_a_forgotten_script_is_loaded_again(house: RedisHouse, client: Redis) -> None:
    api, worker = house.api(), house.worker()
    assert take(worker) == []
    api.submit(a_request("a"))

    client.script_flush()
    with pytest.raises(MailboxDown):
        worker.exchange((), AMPLE)
    api.submit(a_request("b"))

    assert take(worker) == ["a", "b"]


def test_without_redis_everybody_is_told_and_can_leave_quickly(
    private_house: RedisHouse, private_redis: EmbeddedRedis
) -> None:
    api, worker = private_house.api(), private_house.worker()
    api.submit(a_request("a"))
    assert take(worker) == ["a"]
    kill(private_redis)

    assert unblocked(api.status).redis_ok is False
    with pytest.raises(NotReady):
        unblocked(lambda: api.submit(a_request("b")))
    unblocked(worker.close)
    unblocked(api.close)
