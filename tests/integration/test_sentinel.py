"""A Redis watched by sentinels: the primary dies or is replaced, and nobody who waits loses an answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from ops.drills.fleet import SERVICE, Node, RedisFleet
from ops.run import processes
from ops.run.embedded_redis import EmbeddedRedis, free_port
from tests.guarded_redis import PASSWORDS, started
from tests.mailbox_house import eventually, unblocked
from tests.running_system import wait_until
from worker.queue.connection import Address, RedisConnection, script
from worker.queue.protocol import MailboxDown

FAILOVER_S = 20.0


@pytest.fixture
def guarded_fleet(tmp_path: Path) -> Iterator[RedisFleet]:
    """As on a cluster: three, of which one takes nothing alone, with the users of ops/deploy/redis/users.acl."""
    with started(RedisFleet(tmp_path, PASSWORDS, num_nodes=3)) as fleet:
        yield fleet


@pytest.mark.parametrize("command", [("SET", "miniserve:x", "1"), script("beat", "w", 1.2, "0")])
def test_a_primary_that_was_demoted_or_lost_its_replicas_counts_as_a_broken_line(
    private_redis: EmbeddedRedis, command: tuple
) -> None:
    line = RedisConnection(Address(private_redis.url))
    line.ask(command)
    with Redis(port=private_redis.port) as operator:
        operator.replicaof("127.0.0.1", free_port())
        with pytest.raises(MailboxDown, match="not the primary"):
            line.ask(command)
        with pytest.raises(MailboxDown, match="is a replica"):  # what only reads would be answered, with old news
            line.ask(script("status", 2.5))

        operator.replicaof("NO", "ONE")
        line.ask(command)
        operator.config_set("min-replicas-to-write", 1)
        with pytest.raises(MailboxDown, match="not the primary"):
            line.ask(command)


def test_without_any_sentinel_the_line_is_down_and_not_for_ever(tmp_path: Path) -> None:
    ports = [free_port() for _ in range(3)]
    line = RedisConnection(Address(f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in ports)}/miniserve/0"))

    with pytest.raises(MailboxDown, match="no sentinel names a primary of 'miniserve'"):
        unblocked(lambda: line.ask(("PING",)))


def test_after_a_blackout_sentinels_in_new_pods_know_the_last_primary_though_no_volume_holds_a_password(
    guarded_fleet: RedisFleet,
) -> None:
    first = guarded_fleet.kill_primary()
    wait_until(lambda: guarded_fleet.primary() is not first, FAILOVER_S, "another primary")
    guarded_fleet.bring_back(first)
    forbid_elections(guarded_fleet)
    last, line = guarded_fleet.primary(), RedisConnection(Address(guarded_fleet.url("api:api-secret@")))
    wait_until(lambda: asked(line, ("SET", "miniserve:x", "kept")), 10, "a primary that counts its replica as good")
    for sentinel in guarded_fleet.sentinels:  # each saves what it knows once a second
        wait_until(lambda sentinel=sentinel: has_saved(sentinel, last), FAILOVER_S, "a file that names the primary")

    for node in (*guarded_fleet.sentinels, *guarded_fleet.nodes):
        processes.stop(node.process, 10)  # in order: what the append-only file may lack is not asked here
    volumes = [path for node in guarded_fleet.nodes + guarded_fleet.sentinels for path in node.directory.iterdir()]
    written = b"".join(path.read_bytes() for path in volumes if path.is_file() and path.name != "log")
    for sentinel in guarded_fleet.sentinels:
        shutil.rmtree(sentinel.directory / "run")
    for node in guarded_fleet.nodes:
        node.start()
        wait_until(lambda node=node: node.answers(), 10, "a Redis that answers")
    guarded_fleet.start_sentinels()  # so that no Redis could ask them

    assert not any(password.encode() in written for password in PASSWORDS.values())
    assert guarded_fleet.primary() is last
    assert eventually(lambda: asked(line, ("GET", "miniserve:x"))) == [b"kept"]


def has_saved(sentinel: Node, primary: Node) -> bool:
    return f" 127.0.0.1 {primary.port} " in (sentinel.directory / "sentinel.conf").read_text()


def forbid_elections(fleet: RedisFleet) -> None:
    """From now on no Redis counts as dead, also not one that a busy machine lets stand still for a second."""
    for sentinel in fleet.sentinels:
        with sentinel.client() as client:
            client.execute_command("SENTINEL SET", SERVICE, "down-after-milliseconds", 600_000)


def asked(line: RedisConnection, command: tuple) -> list | None:
    try:
        return line.ask(command)
    except MailboxDown:
        return None
