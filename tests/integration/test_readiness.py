"""Probes that cannot lie: a real API and a real worker, stopped or hung, and clients that ask in every way."""

from __future__ import annotations

import signal
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from redis import Redis

from ops.run import embedded_redis
from ops.run.embedded_redis import EmbeddedRedis
from tests.mailbox_house import RedisHouse, eventually, take
from tests.running_system import ApiProcess, post_sentence, real_worker, send


def test_a_worker_that_hangs_for_good_ends_itself_and_another_answers(api: ApiProcess, redis_url: str) -> None:
    with real_worker(redis_url) as hanging, ThreadPoolExecutor() as pool:
        assert post_sentence(api.url, "He goed to school").status == 200
        hanging.send_signal(signal.SIGUSR1)
        waiting = pool.submit(post_sentence, api.url, "They was late.")
        eventually(lambda: hanging.poll() is not None, within_s=15)
        with real_worker(redis_url):
            assert waiting.result().body["corrected"] == "They were late."


def test_a_worker_whose_heart_beats_and_whose_loop_stands_is_not_live(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    take(worker)
    assert api.status().live_workers == 1

    eventually(lambda: api.status().live_workers == 0)  # nobody calls `exchange`
    take(worker)

    eventually(lambda: api.status().live_workers == 1)


class AskedAtOnce(ApiProcess):
    """Asked whether it is ready as soon as its port is bound: the connection waits there until it is accepted."""

    def _is_up(self) -> bool:
        try:
            self.first_reply = send(self.url, "GET", "/readyz")
        except OSError:
            return False
        return True


def test_a_replica_knows_whether_it_is_ready_before_it_answers_anybody(house: RedisHouse, redis_url: str) -> None:
    with real_worker(redis_url):
        eventually(lambda: house.api().status().live_workers, within_s=30)

        with AskedAtOnce(redis_url) as api:
            pass

    assert api.first_reply.body == {"status": "ready", "live_workers": 1, "queue_depth": 0}


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """Of the replica and the worker below. Each test leaves it as it was."""
    server = EmbeddedRedis(tmp_path_factory.mktemp("own"), embedded_redis.free_port()).serve()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def ready_api(own_redis: EmbeddedRedis) -> Iterator[ApiProcess]:
    with ApiProcess(own_redis.url) as process, real_worker(own_redis.url):
        process.wait_until_ready(40)
        yield process


def test_a_redis_that_hangs_makes_readyz_503_at_once_and_healthz_not(
    own_redis: EmbeddedRedis, ready_api: ApiProcess
) -> None:
    own_redis.process.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: ready_api.readiness() == 503)  # while Redis still hangs: a probe waits for none
        assert ready_api.status_of("/healthz") == 200
    finally:
        own_redis.process.send_signal(signal.SIGCONT)
    ready_api.wait_until_ready()


def test_while_redis_is_full_and_takes_no_request_readyz_says_so(
    own_redis: EmbeddedRedis, ready_api: ApiProcess
) -> None:
    with Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", "1mb")
        eventually(lambda: "Redis is full" in send(ready_api.url, "GET", "/readyz").body.get("detail", ""))
        client.config_set("maxmemory", "0")

    ready_api.wait_until_ready()


def test_a_replica_that_hears_no_answers_is_not_ready_and_says_why(
    own_redis: EmbeddedRedis, ready_api: ApiProcess
) -> None:
    with Redis.from_url(own_redis.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-subscribe")
        client.client_kill_filter(_type="pubsub")
        eventually(lambda: ready_api.readiness() == 503)
        detail = send(ready_api.url, "GET", "/readyz").body["detail"]
        refused = post_sentence(ready_api.url, "He goed to school")
        client.execute_command("ACL", "SETUSER", "default", "+subscribe")
        ready_api.wait_until_ready()

    assert "refused by Redis" in detail
    assert (refused.status, post_sentence(ready_api.url, "He goed to school").status) == (503, 200)


POST = (
    b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n"
    b'{"sentence": "He went home"}'
)


def test_a_replica_without_a_place_for_a_connection_is_not_ready_until_one_is_free(redis_url: str) -> None:
    with ExitStack() as stack:
        options = "--api-processes", "1", "--max-queue-requests", "200"
        api = stack.enter_context(ApiProcess(redis_url, *options, max_files=400))
        held = [stack.enter_context(api.connect(f"127.0.1.{1 + number // 5}")) for number in range(135)]  # all places
        for connection in held:
            connection.sendall(POST)

        eventually(lambda: "as many connections" in send(api.url, "GET", "/readyz").body["detail"])
        assert send(api.url, "GET", "/healthz").status == 200
        *_, refused = [stack.enter_context(api.connect(f"127.0.2.{1 + number}")) for number in range(10)]
        assert refused.recv(4096).startswith(b"HTTP/1.1 503 ")
        for connection in held:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
            connection.close()
        eventually(lambda: "as many connections" not in send(api.url, "GET", "/readyz").body["detail"])
