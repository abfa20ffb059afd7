"""A primary, replicas and three sentinels on loopback, for drills on what happens when the primary dies.

They run by the scripts of ops/deploy/redis, as on a cluster, but for times that suit a drill.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from ops.run.embedded_redis import RedisUnavailable, free_ports, link_redis_server
from ops.run.supervisor import Member, log_file

SERVICE = "miniserve"
NUM_SENTINELS = 3
_SCRIPTS = Path(__file__).resolve().parents[1] / "deploy" / "redis"
_START_PATIENCE_S = 40.0
_STOP_PATIENCE_S = 5.0
_LOOK_EVERY_S = 0.02
# Missed for a second is dead here; on half a second a busy machine now and then calls a process dead that lives. The
# rest of a failover is the sentinels' election.
_SENTINEL_TIMES = {"DOWN_AFTER_MS": "1000", "FAILOVER_TIMEOUT_MS": "2000", "QUORUM": "2"}
# A sentinel that stood still for two seconds, or whose clock jumped, trusts nothing it sees (TILT) and fails nothing
# over for this long; no configuration file takes it. The 30 s it has by itself outlast a client's patience.
_TILT_PERIOD_MS = 1000


@dataclass(eq=False)
class Node(Member):
    """One Redis process or one sentinel."""

    directory: Path = Path()
    port: int = 0
    options: dict[str, Any] = field(default_factory=dict)  # of its clients

    def answers(self) -> bool:
        with self.client() as client:
            return _asked(client.ping)

    def client(self) -> Redis:
        return Redis(host="127.0.0.1", port=self.port, socket_timeout=1.0, **self.options)


class RedisFleet:
    """`variables`: more of the scripts', such as passwords; without these everybody may do everything."""

    def __init__(self, directory: Path, variables: Mapping[str, str] | None = None, num_nodes: int = 2) -> None:
        variables = dict(variables or {})
        self._authority = f"{variables['TLS_DIR']}/ca.crt" if "TLS_DIR" in variables else ""
        link_redis_server(directory)
        ports = free_ports(num_nodes + NUM_SENTINELS)
        env = {
            "PATH": os.pathsep.join((str(directory), os.environ.get("PATH", os.defpath))),
            "SENTINELS": " ".join(f"127.0.0.1:{port}" for port in ports[num_nodes:]),
            "SERVICE": SERVICE, "FIRST_PRIMARY": f"127.0.0.1 {ports[0]}", "BIND": "127.0.0.1",
            # Of two one must go on alone; of three none does, for it may be the one that is cut off.
            "MIN_REPLICAS": "1" if num_nodes > 2 else "0",
            **_SENTINEL_TIMES, **variables,
        }  # fmt: skip
        self.nodes = [self._node(directory, "redis", *place, env) for place in enumerate(ports[:num_nodes])]
        self.sentinels = [self._node(directory, "sentinel", *place, env) for place in enumerate(ports[num_nodes:])]

    def _node(self, parent: Path, kind: str, number: int, port: int, env: Mapping[str, str]) -> Node:
        """Those of the same number are a pod: the Redis reads what the sentinel beside it has learnt."""
        directory = parent / f"{kind}-{number}"
        directory.mkdir()
        folders = {"REDIS_DIR": str(directory), "RUN_DIR": str(directory / "run")}
        folders["SENTINEL_DIR"] = str(parent / f"sentinel-{number}")
        place = {"PORT": str(port), "ANNOUNCE": f"127.0.0.1 {port}"}
        return Node(
            directory.name, ("sh", str(_SCRIPTS / f"start-{kind}.sh")), {**env, **place, **folders}, log_file(),
            _STOP_PATIENCE_S, directory=directory, port=port,
            options={"ssl": True, "ssl_ca_certs": self._authority} if self._authority else {},
        )  # fmt: skip

    @property
    def members(self) -> list[Node]:
        return [*self.nodes, *self.sentinels]

    def url(self, login: str = "") -> str:
        """`login`: such as `api:password@`."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.sentinels)
        scheme, options = ("rediss", f"?ssl_ca_certs={self._authority}") if self._authority else ("redis", "")
        return f"{scheme}+sentinel://{login}{hosts}/{SERVICE}/0{options}"

    def start(self) -> None:
        """Returns when the sentinels know the replicas and each other. Raises RedisUnavailable."""
        for node in self.nodes:
            node.start()
            self._wait_until(node.answers, f"a Redis on port {node.port}")
        self.start_sentinels()

    def start_sentinels(self) -> None:
        """Returns when they know the replicas and each other. Raises RedisUnavailable."""
        for sentinel in self.sentinels:
            sentinel.start()
            self._wait_until(sentinel.answers, f"a sentinel on port {sentinel.port}")
            with suppress(ResponseError), sentinel.client() as client:  # Redis 6.2 has no such command
                client.execute_command("SENTINEL", "DEBUG", "tilt-period", _TILT_PERIOD_MS)
        self._wait_until(self.is_whole, "three sentinels that know all replicas")

    def is_whole(self) -> bool:
        """Whether every sentinel sees the primary, all others following it, and the other sentinels."""
        num_replicas = len(self.nodes) - 1
        return all(_asked(partial(_sees_all, sentinel, num_replicas)) for sentinel in self.sentinels)

    def primary(self) -> Node:
        """Return the primary that the first answering sentinel names. Raises RedisUnavailable."""
        for sentinel in self.sentinels:
            with suppress(RedisError, OSError), sentinel.client() as client:
                _, port = client.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", SERVICE)
                return next(node for node in self.nodes if node.port == int(port))
        raise RedisUnavailable("no sentinel answers")

    def kill_primary(self) -> Node:
        """SIGKILL; it stays away until `bring_back`."""
        node = self.primary()
        node.kill()
        node.process.wait()
        return node

    def bring_back(self, node: Node) -> None:
        """As a replica of the present primary; returns when another failover could follow."""
        node.start()
        self._wait_until(self.is_whole, "a replica again")

    def stop(self) -> None:
        for node in reversed(self.members):
            node.stop()

    def _wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        until_s = time.monotonic() + _START_PATIENCE_S
        while not is_true():
            if time.monotonic() > until_s:
                said = "; ".join(node.last_words() for node in self.members)
                raise RedisUnavailable(f"not within {_START_PATIENCE_S:g} s: {what} ({said})")
            time.sleep(_LOOK_EVERY_S)


def _asked(question: Callable[[], object]) -> bool:
    try:
        return bool(question())
    except (RedisError, OSError):
        return False


def _sees_all(sentinel: Node, num_replicas: int) -> bool:
    with sentinel.client() as client:
        known = client.sentinel_master(SERVICE)
        replicas = client.sentinel_slaves(SERVICE)
    are_well = [not one["is_sdown"] and one["master-link-status"] == "ok" for one in replicas]
    is_well = known["is_master"] and not known["is_sdown"]
    return bool(is_well and sum(are_well) == num_replicas and known["num-other-sentinels"] == NUM_SENTINELS - 1)
