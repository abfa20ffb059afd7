"""Servers on which our scripts cannot run are refused at start, before any script runs there."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hiredis
import pytest
from redis import Redis

from ops.run.doctor import examine
from ops.run.embedded_redis import find_redis_server, free_port, free_ports
from ops.run.up import check_given_redis
from tests.mailbox_house import eventually
from tests.running_system import child
from worker.queue.connection import Address, RedisConnection
from worker.queue.protocol import MailboxDown
from worker.queue.server import server_fault

MINISERVE = str(Path(sys.executable).with_name("miniserve"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a cluster of one node that has all slots."""
    folder, (port, bus_port) = tmp_path_factory.mktemp("cluster"), free_ports(2)
    # Else the port of its bus is 10,000 higher, where Linux takes those of connections from.
    ports = ["--port", port, "--cluster-port", bus_port, "--bind", "127.0.0.1"]
    options = ["--cluster-enabled", "yes", "--dir", folder, "--save", ""]
    with child(find_redis_server(), *ports, *options, port=port), Redis(port=port) as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *range(16_384))
        eventually(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"), within_s=30)
        yield f"redis://127.0.0.1:{port}/0"


def test_every_process_refuses_cluster_mode_in_its_first_line(cluster: str) -> None:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        port = ["--port", str(free_port())] if command in ("api", "up") else []
        return subprocess.run([MINISERVE, command, *port, "--redis-url", cluster], capture_output=True, text=True)

    with ThreadPoolExecutor() as pool:
        ends = list(pool.map(run, ("api", "worker", "monitor", "up")))

    for ended in ends:
        first = (ended.stderr or ended.stdout).splitlines()[0]
        assert ended.returncode not in (0, None)
        assert "cluster mode" in first and "cluster-enabled no" in first
    with Redis.from_url(cluster) as client:
        assert not {"cmdstat_script|load", "cmdstat_evalsha"} & client.info("commandstats").keys()


def test_up_takes_a_redis_that_still_loads_its_file_for_one_that_will_answer() -> None:
    def answer(listener: socket.socket) -> None:
        client, _ = listener.accept()
        reader = hiredis.Reader()
        while chunk := client.recv(65_536):
            reader.feed(chunk)
            while reader.gets() is not False:
                client.sendall(b"-LOADING Redis is loading the dataset in memory\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as pool:
        served = pool.submit(answer, listener)
        check_given_redis(f"redis://127.0.0.1:{listener.getsockname()[1]}/0")
        served.result()


def test_doctor_names_the_mode_and_the_remedy(cluster: str) -> None:
    (finding,) = [each for each in examine({}, cluster) if each.check.startswith("Redis")]

    assert "cluster" in finding.found and finding.remedy.startswith("name ")


def test_a_process_that_runs_says_why_when_its_redis_becomes_a_cluster(cluster: str) -> None:
    with pytest.raises(MailboxDown, match="cluster mode"):
        RedisConnection(Address(cluster)).ask(("PING",))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"redis_mode": "cluster"}, "cluster mode"),
        ({"server_mode": "cluster", "redis_version": "7.2.4"}, "cluster mode"),
        ({"redis_mode": "sentinel"}, "redis+sentinel://"),
        ({"redis_version": "6.0.16"}, "this Redis is 6.0.16, too old for our scripts: take 6.2 or later"),
        ({"role": "slave"}, "replica"),
        ({"redis_mode": "standalone", "redis_version": "6.2.5", "role": "master"}, ""),
        ({}, ""),
    ],
)
def test_a_server_is_judged_by_its_mode_its_version_and_its_role(facts: dict[str, str], said: str) -> None:
    fault = server_fault(facts)

    assert said in fault and bool(fault) == bool(said)
