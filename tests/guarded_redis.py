"""A Redis with the users of ops/deploy/redis/users.acl, started by the script that a cluster starts it by."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from ops.drills.fleet import RedisFleet
from ops.run.embedded_redis import free_port, link_redis_server
from tests.mailbox_house import RedisHouse, SteppedWorkerMailbox
from tests.running_system import child
from worker.queue.connection import Address
from worker.queue.redis_py import connect
from worker.queue.worker_end import WorkerMailbox

SCRIPTS = Path(__file__).resolve().parents[1] / "ops" / "deploy" / "redis"
USERS = ("api", "worker", "dashboard", "replica", "sentinel")
PASSWORDS = {f"{user.upper()}_PASSWORD": f"{user}-secret" for user in USERS}


@contextmanager
def started(fleet: RedisFleet) -> Iterator[RedisFleet]:
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.stop()


@dataclass(frozen=True, slots=True)
class GuardedRedis:
    """`options`: what follows the database in its URL, such as `?ssl_ca_certs=...`, which makes it a TLS one."""

    port: int
    options: str = ""

    def url(self, user: str) -> str:
        scheme = "rediss" if self.options else "redis"
        return f"{scheme}://{user}:{user}-secret@127.0.0.1:{self.port}/0{self.options}"

    def client(self, user: str) -> Redis:
        return connect(self.url(user))


@contextmanager
def guarded(directory: Path, variables: Mapping[str, str] | None = None, options: str = "") -> Iterator[GuardedRedis]:
    """`variables`: more of start-redis.sh's; a PATH among them says which server."""
    port = free_port()
    link_redis_server(directory)
    path = os.pathsep.join((str(directory), os.environ["PATH"]))
    place = {"PORT": str(port), "REDIS_DIR": str(directory), "RUN_DIR": str(directory), "BIND": "127.0.0.1"}
    env = {"PATH": path, **place, **PASSWORDS, **(variables or {})}
    with child("sh", SCRIPTS / "start-redis.sh", port=port, env=env):
        yield GuardedRedis(port, options)


class GuardedHouse(RedisHouse):
    """Every mailbox as its own user."""

    def __init__(self, server: GuardedRedis) -> None:
        super().__init__(server.url("api"))
        self._server = server

    def worker(self, kind: type[WorkerMailbox] = SteppedWorkerMailbox) -> WorkerMailbox:
        self.mailboxes.append(mailbox := kind(Address(self._server.url("worker"))))
        mailbox.open(lambda: True)
        return mailbox
