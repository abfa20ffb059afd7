"""Systems of three shards for the tests: three real Redis, a worker for each, and replicas that know all of them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from redis import Redis

from api.http.request_input import idempotency_digest
from ops.run import embedded_redis
from ops.run.embedded_redis import EmbeddedRedis
from scheduler.shards import MARK_DIGITS, by_home, mark_of
from tests.pace import patient
from tests.running_system import ApiProcess, Reply, all_at_once, post_sentence, real_worker, send, wait_until

NUM = 3


@contextmanager
def redis_servers(directory: Path) -> Iterator[list[EmbeddedRedis]]:
    with ExitStack() as stack:
        servers = []
        for number in range(NUM):
            (directory / str(number)).mkdir()
            servers.append(embedded_redis.start(directory / str(number), embedded_redis.free_port()))
            stack.callback(lambda number=number: servers[number].stop())
        yield servers


@contextmanager
def sharded_system(servers: list[EmbeddedRedis]) -> Iterator[list[ApiProcess]]:
    """A worker for each shard, and two replicas that name them in different orders."""
    urls = [server.url for server in servers]
    with ExitStack() as stack:
        for url in urls:
            stack.enter_context(real_worker(url))
        lists = ",".join(urls), ", ".join(reversed(urls))
        replicas = stack.enter_context(all_at_once(*map(ApiProcess, lists)))
        for replica in replicas:
            wait_until(lambda replica=replica: num_workers(replica) == NUM, 40, f"{NUM} workers at {replica.url}")
        yield replicas


def num_workers(replica: ApiProcess) -> int:
    reply = send(replica.url, "GET", "/readyz")
    return reply.body["live_workers"] if reply.status == 200 else 0


def mark_in(reply: Reply) -> str:
    return reply.body["request_id"][:MARK_DIGITS]


def post(replica: ApiProcess, learner_id: str | None = None, **headers: str) -> Reply:
    document = {"sentence": "He goed home. She have left."} | ({"learner_id": learner_id} if learner_id else {})
    asked = {"Content-Type": "application/json", **headers}
    return send(replica.url, "POST", "/correct", json.dumps(document).encode(), asked)


def metric(replica: ApiProcess, name: str) -> float:
    found = re.search(rf"^miniserve_{re.escape(name)} (\S+)$", send(replica.url, "GET", "/metrics").body, re.MULTILINE)
    return float(found[1])


class Clients:
    """Send again where they are refused, until they are answered."""

    def __init__(self, url: str, number: int) -> None:
        self._url, self._is_over = url, threading.Event()
        self.replies: list[Reply] = []
        self.refusals: list[Reply] = []
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(number)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(patient(40))

    def _run(self) -> None:
        while not self._is_over.is_set():
            reply = post_sentence(self._url, "He goed home.")
            while reply.status == 503:
                self.refusals.append(reply)
                time.sleep(float(reply.headers["Retry-After"]))
                reply = post_sentence(self._url, "He goed home.")
            self.replies.append(reply)


def kill(server: EmbeddedRedis) -> None:
    server.process.kill()
    server.process.wait()


def assert_not_ready(reply: Reply) -> None:
    assert (reply.status, reply.body["type"].rpartition(":")[2]) == (503, "not-ready")
    assert reply.headers["Retry-After"]


def home_of(key: str, servers: list[EmbeddedRedis]) -> str:
    digest = idempotency_digest({"HTTP_IDEMPOTENCY_KEY": key})
    return by_home(digest, [mark_of(server.url) for server in servers])[0]


def num_queued(server: EmbeddedRedis) -> int:
    with Redis(port=server.port) as client:
        return client.llen("rq:queue:correct")
