"""`miniserve api` as a process: how it starts, stops and bears rude clients. The test itself plays the worker."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.grammar.edit_script import EOS_ID
from api.server.application import bind
from api.server.serving import LAST_ANSWERS_S, LINGER_S
from ops.run import processes
from ops.run.embedded_redis import EmbeddedRedis, free_port
from scheduler.messages import Delivery
from tests.mailbox_house import AMPLE, RedisHouse, an_answer, eventually, take_one
from tests.pace import patient
from tests.running_system import ApiProcess, Reply, post_sentence, real_worker, send
from worker.queue.connection import Address
from worker.queue.redis_observer import SystemReader
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture
def worker(house: RedisHouse) -> WorkerMailbox:
    return house.worker()


@pytest.fixture
def api(redis_url: str) -> Iterator[ApiProcess]:
    """A replica that the test may stop."""
    with ApiProcess(redis_url, "--grace-s", "600") as process:
        yield process


def answer(worker: WorkerMailbox, delivery: Delivery) -> None:
    worker.exchange([an_answer(delivery.request.request_id, EOS_ID)], AMPLE)


def test_a_port_in_use_is_one_line_and_status_1(api: ApiProcess, redis_url: str) -> None:
    command = processes.miniserve_command("api", "--port", str(api.port), "--redis-url", redis_url)

    second = subprocess.run(command, capture_output=True, text=True)

    assert second.returncode == 1
    (line,) = second.stderr.splitlines()
    assert f"127.0.0.1:{api.port}" in line and "--port" in line


def test_a_redis_that_does_not_answer_is_one_warning_without_its_password() -> None:
    address = f"127.0.0.1:{free_port()}"
    with ApiProcess(f"redis://:secret@{address}/0") as api:
        line = api.wait_for_line(r"^.*warning.*$", 15).group()

    assert "does not answer" in line and "--redis-url" in line
    assert address in line and "secret" not in line


def test_ctrl_c_while_a_replica_starts_is_no_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a Redis that hangs, so that the start takes its time
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        command = processes.miniserve_command("api", "--port", str(free_port()), "--redis-url", url)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            asked = [silent.accept()[0] for _ in range(2)]  # by its look at the Redis, and by what then serves
            process.send_signal(signal.SIGINT)

            assert "critical" not in process.stderr.read()
            for connection in asked:
                connection.close()
    assert process.returncode == 0


def test_sigterm_ends_an_idle_replica_at_once_despite_open_connections(api: ApiProcess) -> None:
    with api.connect() as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")

        api.process.send_signal(signal.SIGTERM)

        assert api.process.wait(patient(20)) == 0
    assert [line for line in api.output().splitlines() if "[info" not in line] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_warm_shutdown_answers_who_waits_and_takes_nobody_new(
    api: ApiProcess, worker: WorkerMailbox, number: signal.Signals
) -> None:
    kept = http.client.HTTPConnection("127.0.0.1", api.port)
    kept.request("GET", "/nowhere")
    assert kept.getresponse().read()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(post_sentence, api.url, "He went home")
        delivery = take_one(worker)

        api.process.send_signal(number)
        eventually(lambda: send(api.url, "GET", "/readyz").body.get("type") == "urn:miniserve:problem:shutting-down")
        kept.request("GET", "/readyz")  # a balancer's, used before the stop
        told = kept.getresponse()
        refused = post_sentence(api.url, "He went home")
        alive = send(api.url, "GET", "/healthz")
        time.sleep(LINGER_S + LAST_ANSWERS_S)  # what it takes without a grace
        assert not waiting.done()
        answer(worker, delivery)

        assert waiting.result().status == 200
    assert (refused.status, refused.slug, refused.headers["Retry-After"]) == (503, "shutting-down", "1")
    assert refused.headers["Connection"] == "close"
    assert told.status == 503
    assert alive.status == 200
    assert api.process.wait() == 0


def test_who_still_waits_when_the_grace_is_over_is_told(redis_url: str, worker: WorkerMailbox) -> None:
    with ApiProcess(redis_url, "--grace-s", "0.3") as api, ThreadPoolExecutor() as pool:
        waiting = pool.submit(post_sentence, api.url, "He went home")
        take_one(worker)

        api.process.send_signal(signal.SIGTERM)

        reply: Reply = waiting.result()
        assert (reply.status, reply.slug) == (503, "shutting-down")
        assert int(reply.headers["Retry-After"]) >= 1
        assert api.process.wait() == 0


def test_who_stops_in_order_reports_all_that_was_counted(private_redis: EmbeddedRedis) -> None:
    url = private_redis.url
    with real_worker(url) as worker, ApiProcess(url) as api:
        for _ in range(4):
            assert post_sentence(api.url, "He goed to school").status == 200
        for process in (api.process, worker):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0

    reader = SystemReader(Address(url))
    totals = reader.observe().totals
    reader.close()
    assert (totals["http:/correct:200"], totals["iteration:requests"]) == (4, 4)
    assert sum(count for name, count in totals.items() if re.fullmatch(r"e2e_request_latency:\d+", name)) == 4


def test_no_answer_waits_for_an_acknowledgement_of_its_head() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


FAILING_LOOP = """
import sys
import time
from types import SimpleNamespace
from api.server.application import ApiWorker

async def serve(*_):
    raise ValueError("in the loop")

ApiWorker.run(SimpleNamespace(alive=True, wsgi=SimpleNamespace(serve=serve), sockets=[], _look_at_master=None))
sys.exit("the process went on without its loop")
"""


def test_a_process_whose_event_loop_fails_ends_and_the_log_says_why() -> None:
    ended = subprocess.run([sys.executable, "-c", FAILING_LOOP], capture_output=True, text=True)

    assert ended.returncode == os.EX_SOFTWARE
    assert "the event loop failed" in ended.stdout + ended.stderr and "in the loop" in ended.stdout + ended.stderr
