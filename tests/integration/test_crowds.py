"""More connections than the queue takes requests: who was refused is read in time, and then goes first."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack

import pytest
from redis import Redis

from tests.integration.test_rude_clients import REQUEST, parsed
from tests.mailbox_house import AMPLE, RedisHouse, an_answer, answer, eventually, take, take_one
from tests.running_system import ApiProcess


def test_a_refused_client_that_comes_back_goes_before_newcomers(redis_url: str, house: RedisHouse) -> None:
    with Redis.from_url(redis_url) as client:
        client.hset("miniserve:counts", "service_rate", 1000.0)
    with ExitStack() as stack:
        api = stack.enter_context(ApiProcess(redis_url, "--api-processes", "1", "--max-queue-requests", "4"))
        *waiting, refused, newcomer = (stack.enter_context(api.connect()) for _ in range(6))
        for connection in waiting:
            connection.sendall(REQUEST)
        for _ in range(4):
            stack.enter_context(api.connect()).sendall(b"GET /nowhere HTTP/1.1\r\nX-Y: ")
        worker, held = house.worker(), []
        eventually(lambda: held.extend(take(worker)) or len(held) == 4)
        refused.sendall(REQUEST)
        status, headers, _ = parsed(refused.recv(65_536))
        comes_back_s = time.monotonic() + int(headers["retry-after"])
        answer(worker, held[0])
        assert status == 503
        assert parsed(waiting[0].recv(65_536))[0] == 200
        newcomer.sendall(REQUEST)
        assert parsed(newcomer.recv(65_536))[0] == 503, "a place is free, and kept for who was refused before"
        eventually(lambda: time.monotonic() >= comes_back_s)

        refused.sendall(REQUEST)

        answer(worker, take_one(worker).request.request_id)
        assert parsed(refused.recv(65_536))[0] == 200


def test_a_refused_client_that_comes_early_is_not_read_before_its_time(redis_url: str, house: RedisHouse) -> None:
    with ExitStack() as stack:
        api = stack.enter_context(ApiProcess(redis_url, "--api-processes", "1", "--max-queue-requests", "1"))
        waiting, early, other = (stack.enter_context(api.connect()) for _ in range(3))
        waiting.sendall(REQUEST)
        worker = house.worker()
        held = take_one(worker)
        early.sendall(REQUEST)
        first = parsed(early.recv(65_536))
        early.sendall(REQUEST)
        other.sendall(REQUEST)
        second = parsed(other.recv(65_536))
        early.setblocking(False)

        assert (first[0], second[0]) == (503, 503)
        assert int(first[1]["retry-after"]) >= 1
        with pytest.raises(BlockingIOError):
            early.recv(1)  # the request of another connection has come later and is answered already
        worker.exchange([an_answer(held.request.request_id)], AMPLE)
        assert parsed(waiting.recv(65_536))[0] == 200


def test_a_refused_client_behind_a_trusted_proxy_is_read_at_once(redis_url: str, house: RedisHouse) -> None:
    options = "--api-processes", "1", "--max-queue-requests", "1", "--trusted-proxies", "127.0.0.1"
    with ExitStack() as stack:
        api = stack.enter_context(ApiProcess(redis_url, *options))
        waiting, proxy = (stack.enter_context(api.connect()) for _ in range(2))
        waiting.sendall(REQUEST)
        take_one(house.worker())
        for _ in range(20):
            proxy.sendall(REQUEST)
            assert parsed(proxy.recv(65_536))[0] == 503


def test_a_client_that_is_held_back_is_refused_when_the_replica_stops(redis_url: str, house: RedisHouse) -> None:
    with ExitStack() as stack:
        options = "--api-processes", "1", "--max-queue-requests", "1", "--grace-s", "1"
        api = stack.enter_context(ApiProcess(redis_url, *options))
        waiting, early = (stack.enter_context(api.connect()) for _ in range(2))
        waiting.sendall(REQUEST)
        take_one(house.worker())
        early.sendall(REQUEST)
        assert parsed(early.recv(65_536))[0] == 503
        early.sendall(REQUEST)

        api.signal(signal.SIGTERM)

        status, _, problem = parsed(early.recv(65_536))
        assert status == 503 and str(problem["type"]).endswith(("shutting-down", "queue-full"))
