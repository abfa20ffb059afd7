"""Probes that cannot lie: a real API and a real worker, stopped or hung, and clients that ask in every way."""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis
from tests.mailbox_house import RedisHouse, eventually, take
from tests.running_system import ApiProcess, post_sentence, real_worker, send
from worker.queue.protocol import READY_WITHIN_S

PROBE_EVERY_S = 0.05
NUM_CLIENTS = 200  # at once, each with the next request as soon as the last is answered


class Prober:
    """Asks one path again and again, each time on a new connection."""

    def __init__(self, url: str, path: str) -> None:
        self.answers: list[tuple[float, int]] = []  # when it came, status
        self._url, self._path = url, path
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Prober:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(PROBE_EVERY_S):
            status = send(self._url, "GET", self._path).status
            self.answers.append((time.monotonic(), status))

    def first(self, status: int, after: float, within_s: float = 10.0) -> None:
        """Wait until that status is seen after a moment."""
        eventually(lambda: any(at > after and found == status for at, found in self.answers), within_s)


@pytest.mark.parametrize(
    "stop, go_on", [(signal.SIGSTOP, signal.SIGCONT), (signal.SIGUSR1, signal.SIGUSR2)], ids=["stopped", "hung loop"]
)
def test_readiness_goes_with_a_worker_and_comes_back_with_it(
    api: ApiProcess, redis_url: str, stop: signal.Signals, go_on: signal.Signals
) -> None:
    with real_worker(redis_url) as worker, Prober(api.url, "/readyz") as ready, Prober(api.url, "/healthz") as health:
        assert post_sentence(api.url, "He goed to school").body["corrected"] == "He went to school"
        ready.first(200, after=time.monotonic(), within_s=30)  # of this worker, not of one that was there before

        worker.send_signal(stop)
        ready.first(503, after=time.monotonic())
        worker.send_signal(go_on)
        ready.first(200, after=time.monotonic())
        assert post_sentence(api.url, "He goed to school").body["corrected"] == "He went to school"

    assert READY_WITHIN_S <= 3.0
    assert {status for _, status in health.answers} == {200}


def test_a_worker_that_hangs_for_good_ends_itself_and_another_answers(api: ApiProcess, redis_url: str) -> None:
    with real_worker(redis_url) as hanging, ThreadPoolExecutor() as pool:
        assert post_sentence(api.url, "He goed to school").status == 200
        hanging.send_signal(signal.SIGUSR1)
        waiting = pool.submit(post_sentence, api.url, "They was late.")
        eventually(lambda: hanging.poll() is not None, within_s=15)
        with real_worker(redis_url):
            assert waiting.result().body["corrected"] == "They were late."


def test_a_worker_whose_heart_beats_and_whose_loop_stands_is_not_live(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker(is_fresh=lambda: True)
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


def test_a_redis_that_hangs_makes_readyz_503_at_once_and_healthz_not(private_redis: EmbeddedRedis) -> None:
    with ExitStack() as stack:
        api = stack.enter_context(ApiProcess(private_redis.url))
        stack.enter_context(real_worker(private_redis.url))
        ready, health = (stack.enter_context(Prober(api.url, path)) for path in ("/readyz", "/healthz"))
        stack.callback(private_redis.process.send_signal, signal.SIGCONT)
        ready.first(200, after=0.0, within_s=30)

        private_redis.process.send_signal(signal.SIGSTOP)
        ready.first(503, after=time.monotonic())  # while Redis still hangs: a probe waits for none
        time.sleep(0.5)
        private_redis.process.send_signal(signal.SIGCONT)
        ready.first(200, after=time.monotonic())

    assert {status for _, status in health.answers} == {200}


def test_while_redis_is_full_and_takes_no_request_readyz_says_so(private_redis: EmbeddedRedis) -> None:
    with ApiProcess(private_redis.url) as api, real_worker(private_redis.url):
        redis = Redis.from_url(private_redis.url)
        eventually(lambda: send(api.url, "GET", "/readyz").status == 200)
        redis.config_set("maxmemory", "1mb")

        eventually(lambda: "Redis is full" in send(api.url, "GET", "/readyz").body.get("detail", ""))
        redis.config_set("maxmemory", "0")
        eventually(lambda: send(api.url, "GET", "/readyz").status == 200)


def test_a_replica_that_hears_no_answers_is_not_ready_and_says_why(private_redis: EmbeddedRedis) -> None:
    with ApiProcess(private_redis.url) as api, real_worker(private_redis.url), Prober(api.url, "/readyz") as ready:
        client = Redis.from_url(private_redis.url)
        ready.first(200, after=0.0, within_s=30)

        client.execute_command("ACL", "SETUSER", "default", "-subscribe")
        client.client_kill_filter(_type="pubsub")
        ready.first(503, after=time.monotonic())
        detail = send(api.url, "GET", "/readyz").body["detail"]
        refused = post_sentence(api.url, "He goed to school")
        client.execute_command("ACL", "SETUSER", "default", "+subscribe")
        ready.first(200, after=time.monotonic())
        answered = post_sentence(api.url, "He goed to school")

    assert "refused by Redis" in detail
    assert (refused.status, answered.status) == (503, 200)


def test_probes_are_answered_while_many_clients_press(api: ApiProcess, redis_url: str) -> None:
    stop = threading.Event()

    def press(number: int) -> None:
        while not stop.is_set():
            post_sentence(api.url, f"He goed to school {number} times")

    with real_worker(redis_url), ThreadPoolExecutor(NUM_CLIENTS) as clients:
        eventually(lambda: send(api.url, "GET", "/readyz").status == 200, within_s=30)
        try:
            with Prober(api.url, "/readyz") as ready, Prober(api.url, "/healthz") as health:
                for number in range(NUM_CLIENTS):
                    clients.submit(press, number)
                eventually(lambda: min(len(ready.answers), len(health.answers)) > 40, within_s=60)
        finally:
            stop.set()

    for prober in (ready, health):
        assert {status for _, status in prober.answers} == {200}


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
        for connection in held:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
            connection.close()
        eventually(lambda: "as many connections" not in send(api.url, "GET", "/readyz").body["detail"])
