"""One API of several processes on one port: same answers, one set of metrics, one process may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ops.run.embedded_redis import EmbeddedRedis
from tests.exposed_metrics import families_of
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, descendants, is_running, send

NUM_PROCESSES = 2


@pytest.fixture(scope="module")
def api(redis_server: EmbeddedRedis) -> Iterator[ApiProcess]:
    """Of the tests that it outlives; the last one stops it."""
    with ApiProcess(redis_server.url, "--api-processes", str(NUM_PROCESSES)) as process:
        yield process


def processes_of(api: ApiProcess) -> set[int]:
    return {pid for pid in descendants(api.process.pid) if is_running(pid)}


def num_responses(api: ApiProcess) -> float:
    reply = send(api.url, "GET", "/metrics")
    samples = families_of(reply.body.encode())["miniserve_http_responses"].samples
    return sum(sample.value for sample in samples if sample.labels["status"] == "415")


def test_the_metrics_are_those_of_all_processes(api: ApiProcess) -> None:
    eventually(lambda: len(processes_of(api)) == NUM_PROCESSES)
    before = num_responses(api)

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: send(api.url, "POST", "/correct", b"{}"), range(40)))

    assert {reply.status for reply in replies} == {415}
    eventually(lambda: num_responses(api) == before + 40)


def test_a_process_that_dies_is_replaced_and_the_port_stays_served(api: ApiProcess) -> None:
    before = eventually(lambda: (pids := processes_of(api)) and len(pids) == NUM_PROCESSES and pids)
    os.kill(min(before), signal.SIGKILL)

    after = eventually(lambda: (pids := processes_of(api)) != before and len(pids) == NUM_PROCESSES and pids, 10)

    assert len(after & before) == NUM_PROCESSES - 1
    assert send(api.url, "GET", "/healthz").status == 200


def test_when_sighup_has_replaced_the_processes_the_port_is_still_served(api: ApiProcess) -> None:
    before = eventually(lambda: (pids := processes_of(api)) and len(pids) == NUM_PROCESSES and pids)
    assert send(api.url, "GET", "/healthz").status == 200
    api.process.send_signal(signal.SIGHUP)

    eventually(lambda: (pids := processes_of(api)) and len(pids) == NUM_PROCESSES and not pids & before, 20)

    assert {send(api.url, "GET", "/healthz").status for _ in range(8)} == {200}
