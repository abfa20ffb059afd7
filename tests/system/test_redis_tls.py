"""The users of ops/deploy/redis/users.acl over TLS, on a real Redis, with certificates made for the test.

The embedded Redis knows no TLS. Debian's does: `make test-system` installs it (ops/deploy/system_tools.sh).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.drills.fleet import RedisFleet
from ops.run import health
from ops.run.embedded_redis import free_port
from tests import guarded_redis, system_tools
from tests.guarded_redis import GuardedRedis
from tests.integration.test_sentinel import asked
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, child, post_sentence, real_worker
from worker.queue.connection import Address, RedisConnection
from worker.queue.protocol import MailboxDown
from worker.queue.redis_py import connect


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.crt, tls.crt and tls.key for 127.0.0.1, and stranger.crt, another authority."""
    folder = tmp_path_factory.mktemp("certificates")
    command = [system_tools.find("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
    for name, how in (("ca", ()), ("stranger", ()), ("tls", signed)):
        files = "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"
        subprocess.run([*command, *files, *how], cwd=folder, check=True, capture_output=True)
    return folder


def path_to_redis() -> str:
    """A PATH on which the system's redis-server comes first: the bundled one knows no TLS."""
    return os.pathsep.join((str(Path(system_tools.find("redis-server")).parent), os.environ["PATH"]))


@pytest.fixture(scope="module")
def server(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    folder = tmp_path_factory.mktemp("guarded")
    variables = {"PATH": path_to_redis(), "TLS_DIR": str(certificates)}
    with guarded_redis.guarded(folder, variables, f"?ssl_ca_certs={certificates / 'ca.crt'}") as server:
        yield server


def test_processes_serve_over_tls_each_as_its_own_user_and_rq_info_shows_them(server: GuardedRedis) -> None:
    with real_worker(server.url("worker")), ApiProcess(server.url("api")) as api:
        api.wait_until_ready(40)
        reply = post_sentence(api.url, "He goed to school")
        assert health.has_lease(server.url("worker"), os.uname().nodename)
        command = [sys.executable, Path(sys.executable).with_name("rq"), "info", "-u", server.url("api")]
        info = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert (reply.status, reply.body["corrected"]) == (200, "He went to school")
    assert "1 workers, 2 queues" in info


def test_sentinels_name_the_next_primary_over_tls(certificates: Path, tmp_path: Path) -> None:
    variables = {**guarded_redis.PASSWORDS, "TLS_DIR": str(certificates), "PATH": path_to_redis()}
    with guarded_redis.started(RedisFleet(tmp_path, variables, num_nodes=3)) as fleet:
        line = RedisConnection(Address(fleet.url("api:api-secret@")))
        assert eventually(lambda: asked(line, ("SET", "miniserve:x", "2")), within_s=30.0) == [b"OK"]
        first, dead = line.run_id, fleet.kill_primary()

        assert eventually(lambda: asked(line, ("SET", "miniserve:x", "2")), within_s=30.0) == [b"OK"]

        assert line.run_id != first
        assert fleet.primary() is not dead
        fleet.bring_back(dead)


@pytest.fixture
def open_server(certificates: Path, tmp_path: Path) -> Iterator[str]:
    """The URL of a Redis over TLS that asks for no password."""
    port = free_port()
    files = {"cert": "tls.crt", "key": "tls.key", "ca-cert": "ca.crt"}
    options = [word for name, file in files.items() for word in (f"--tls-{name}-file", certificates / file)]
    options += ["--port", 0, "--tls-port", port, "--bind", "127.0.0.1", "--tls-auth-clients", "no"]
    with child(system_tools.find("redis-server"), *options, "--dir", tmp_path, "--save", "", port=port):
        yield f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificates / 'ca.crt'}"


def test_the_first_command_of_a_pool_meets_no_session_ticket(open_server: str) -> None:
    line = RedisConnection(Address(open_server))
    eventually(lambda: asked(line, ("SET", "miniserve:x", "2")), within_s=30.0)
    line.close()

    for _ in range(100):  # one in two failed
        with connect(open_server) as client:
            assert client.ping()


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        ("ca.crt", "stranger.crt"),
        ("ca.crt", "missing.crt"),
        (r"\?.*", ""),
        ("127.0.0.1", "localhost"),  # a name that the certificate does not hold
        ("rediss:", "redis:"),
    ],
)
def test_a_server_whose_certificate_proves_nothing_is_not_talked_to(
    server: GuardedRedis, usual: str, other: str
) -> None:
    url = re.sub(usual, other, server.url("api"))

    with pytest.raises(MailboxDown):
        RedisConnection(Address(url)).ask(("PING",))
