"""Servers that are all up at once and loaded in turn, in slices of some seconds, so that a drifting machine compares.

CPU time is that of every process of a server's tree, in the kernel's ticks of 10 ms. Linux only: stolen time is, too.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tqdm import tqdm

from ops.bench.experiment import Row, as_columns
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.connection import Target
from ops.load.generator import Generator
from ops.observe.scrape import key_headers
from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.variables import variable

ROLES = ("api", "worker", "redis", "other")
_WARM_UP_S = 2.0
_PAUSE_S = 0.5  # between slices, so that what is left of one is not counted in the next


@dataclass(frozen=True, slots=True)
class Server:
    """One way to serve; the command takes the port as its last argument."""

    name: str
    command: Sequence[str]
    path: str = "/correct"
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def api_key(self) -> str:
        """What the load is sent with; '' where the server asks for no key."""
        return self.env.get(variable("api_key"), "")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    server: Server
    target: Target
    pid: int


def checkouts(others: Sequence[str]) -> list[Server]:
    """This one, then others, each NAME=DIR[,VARIABLE=VALUE...] with an installed DIR/.venv."""
    servers = [Server("now", [*processes.miniserve_command("up"), "--port"])]
    for text in others:
        name, _, rest = text.partition("=")
        folder, *settings = rest.split(",")
        scripts = Path(folder).resolve() / ".venv" / "bin"
        env = dict(one.split("=", 1) for one in settings)
        servers.append(Server(name, [str(scripts / "python"), str(scripts / "miniserve"), "up", "--port"], env=env))
    return servers


@contextmanager
def all_up(servers: Sequence[Server], sentences: Sequence[str]) -> Iterator[list[Running]]:
    """Every server, warm. Raises RuntimeError where one does not start."""
    with ExitStack() as stack:
        running = [stack.enter_context(_up(server)) for server in servers]
        for one in running:
            put_load_on(one, sentences, 32, _WARM_UP_S)
        yield running


@contextmanager
def _up(server: Server) -> Iterator[Running]:
    port = free_port()

    def why_not() -> str | None:
        return None if answers(port, server.path, server.api_key) else "no answer"

    with processes.running([*server.command, str(port)], processes.environment(server.env), why_not) as (process, _):
        yield Running(server, target_of(server, port), process.pid)


def target_of(server: Server, port: int) -> Target:
    """Where the load goes, with the server's key if it asks for one."""
    head = f"POST {server.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    return Target("127.0.0.1", port, head.encode()).with_key(server.api_key)


def answers(port: int, path: str, api_key: str = "") -> bool:
    """Whether it corrects a sentence within ten seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with suppress(OSError, http.client.HTTPException):
        body = json.dumps({"sentence": "He goed to school."})
        connection.request("POST", path, body, {"Content-Type": "application/json", **key_headers(api_key)})
        return connection.getresponse().status == 200
    return False


def in_turn(running: Sequence[Running], rounds: int, what: str) -> Iterator[tuple[int, Running]]:
    """Each server once a round, every second round backwards. With a bar."""
    with tqdm(total=rounds * len(running), desc=what, unit="slice") as bar:
        for run in range(1, rounds + 1):
            for one in running if run % 2 else reversed(running):
                time.sleep(_PAUSE_S)
                yield run, one
                bar.update()


def put_load_on(running: Running, sentences: Sequence[str], clients: int, seconds: float) -> Row:
    """One slice: what was answered, and the CPU time of each role in microseconds a request."""
    stolen, before = _stolen_ticks(), cpu_us(running.pid)
    measured = Generator(running.target, sentences, ClosedLoop(clients), Limits(duration_s=seconds), None).run()
    after, answers = cpu_us(running.pid), max(1, measured.statuses[200])
    spent = {f"{role}_us": (after[role] - before[role]) / answers for role in ROLES}
    about = {"server": running.server.name, "clients": clients, "stolen_ticks": _stolen_ticks() - stolen}
    return {**about, "cpu_us": sum(spent.values()), **spent, **as_columns(measured)}


def calm(rows: Sequence[Row], server: str, clients: int) -> list[Row]:
    """Of one server's slices the two thirds from which the hypervisor took the least time."""
    chosen = [row for row in rows if (row["server"], row["clients"]) == (server, clients)]
    return sorted(chosen, key=lambda row: row["stolen_ticks"])[: -(-2 * len(chosen) // 3)]


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def holder(pid: int, port: int) -> int:
    """The process of the tree that accepts connections of clients."""
    with socket.create_connection(("127.0.0.1", port)):
        time.sleep(_PAUSE_S)
        return max(tree(pid), key=lambda one: _num_accepted(one, port)).pid


def _num_accepted(process: psutil.Process, port: int) -> int:
    with suppress(psutil.Error):
        found = process.net_connections("tcp4")
        return sum(one.laddr.port == port and one.status == psutil.CONN_ESTABLISHED for one in found)
    return 0


def cpu_us(pid: int) -> Counter[str]:
    """Return the CPU time of a tree of processes since they began, by role."""
    used: Counter[str] = Counter()
    for one in tree(pid):
        used[role(one)] += own_cpu_us(one)
    return used


def redis_url(pid: int) -> str:
    """That the server's processes were given."""
    for one in tree(pid):
        with suppress(psutil.Error):
            if url := one.environ().get("MINISERVE_REDIS_URL"):
                return url
    raise RuntimeError("no process has MINISERVE_REDIS_URL in its environment")


def own_cpu_us(process: psutil.Process) -> float:
    """Return the CPU time of all threads of one process; 0 if it has ended."""
    with suppress(psutil.Error):
        times = process.cpu_times()
        return 1e6 * (times.user + times.system)
    return 0.0


def role(process: psutil.Process) -> str:
    """What `ps` says that it is."""
    with suppress(psutil.Error):
        command = " ".join(process.cmdline())
        if found := re.search(r"(?:miniserve|ops\.cli) (api|worker)\b|(?:redis|valkey)-server", command):
            return found[1] or "redis"
    return "other"


def _stolen_ticks() -> int:
    return round(psutil.cpu_times().steal * os.sysconf("SC_CLK_TCK"))
