"""Real `miniserve` processes for tests: started on free ports, looked at from outside, always ended."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import psutil

from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member, log_file, running
from tests.pace import patient

START_S = 40.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer, its body decoded where it is JSON."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def slug(self) -> str:
        """The last part of a problem's `type`."""
        return self.body["type"].rsplit(":", 1)[-1]

    @property
    def timings_ms(self) -> dict[str, float]:
        """What `Server-Timing` says."""
        return {name: float(ms) for name, ms in re.findall(r"(\w+);dur=([\d.]+)", self.headers["Server-Timing"])}


def send(
    url: str, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """One request on a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=patient(60))
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        text = response.read().decode()
        is_json = "json" in (response.getheader("Content-Type") or "")
        return Reply(response.status, response.headers, json.loads(text) if is_json else text)
    finally:
        connection.close()


def post_sentence(url: str, sentence: str) -> Reply:
    return post_json(url, "/correct", {"sentence": sentence})


def post_json(url: str, path: str, document: object) -> Reply:
    return send(url, "POST", path, json.dumps(document).encode(), {"Content-Type": "application/json"})


def events_of(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Name and document of each event of a stream; comments are left out."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ").strip()
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def status_of(url: str, path: str) -> int:
    """What GET answers; 0 while nobody answers."""
    try:
        return send(url, "GET", path).status
    except OSError:
        return 0


def wait_until(is_true: Callable[[], bool], within_s: float, what: str | Callable[[], str]) -> None:
    """Poll until a deadline, which a slow machine puts off; an AssertionError names what did not happen."""
    deadline = time.monotonic() + patient(within_s)
    while not is_true():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what if isinstance(what, str) else what()}"
        time.sleep(0.02)


@contextmanager
def child(
    *command: object, port: int | None = None, env: Mapping[str, str] | None = None, patience_s: float = 20.0
) -> Iterator[Member]:
    """Any program, once it listens on its port where it has one. It dies with the tests, whatever ends them."""
    member = Member(str(command[0]), [*map(str, command)], env, patience_s=patience_s)
    with running(member, lambda: None if port is None or is_listening(port) else f"nothing listens on {port}"):
        yield member


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def real_worker(redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """The worker that ships; SIGUSR1 lets its loop hang."""
    env = os.environ | {"MINISERVE_REDIS_URL": redis_url}
    with child(sys.executable, "-m", "tests.hanging_worker", env=env, patience_s=0.0) as worker:
        yield worker.process


def is_running(pid: int) -> bool:
    """False for a zombie, too: it runs no more, whoever has yet to collect it."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def command_line(pid: int) -> str:
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def descendants(pid: int, recursive: bool = True) -> list[int]:
    """All living processes below one, or its children alone."""
    try:
        return [one.pid for one in psutil.Process(pid).children(recursive)]
    except psutil.NoSuchProcess:
        return []


class Server:
    """A `miniserve` process with a port of its own, as a child; use it as a context manager."""

    def __init__(self, *command: str, env: Mapping[str, str] | None = None, max_files: int | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        limit = ["sh", "-c", f'ulimit -n {max_files} && exec "$@"', "sh"] if max_files is not None else []
        command = (*limit, *processes.miniserve_command(*command, "--port", str(self.port)))
        env = {**os.environ, "MINISERVE_REQUEST_TIMEOUT_S": str(patient(30)), **(env or {})}
        self._member = Member("it", command, env, log_file(), patient(30))
        self._member.start()
        self.process, self.output = self._member.process, self._member.said

    def __enter__(self) -> Self:
        try:
            wait_until(self._is_up, START_S, self.output)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._member.stop()

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.output()
        return self.status_of("/healthz") == 200

    def wait_for_line(self, pattern: str, within_s: float) -> re.Match[str]:
        deadline = time.monotonic() + patient(within_s)
        while not (found := re.search(pattern, self.output(), re.MULTILINE)):
            is_over = self.process.poll() is not None or time.monotonic() > deadline
            assert not is_over, f"no line {pattern!r} in:\n{self.output()}"
            time.sleep(0.02)
        return found

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=patient(10), source_address=(source, 0))

    def status_of(self, path: str) -> int:
        return status_of(self.url, path)

    def readiness(self) -> int:
        return self.status_of("/readyz")

    def wait_until_ready(self, within_s: float = 15.0) -> None:
        wait_until(lambda: self.readiness() == 200, within_s, "ready")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@contextmanager
def all_at_once(*servers: Server) -> Iterator[list[Server]]:
    """All of them, each of which starts while the others do."""
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.__exit__)
        yield [server.__enter__() for server in servers]


class ApiProcess(Server):
    """`miniserve api`, for tests that play the worker themselves."""

    def __init__(
        self, redis_url: str, *options: str, env: Mapping[str, str] | None = None, max_files: int | None = None
    ) -> None:
        super().__init__("api", "--redis-url", redis_url, *options, env=env, max_files=max_files)

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        super().__exit__()


class RunningSystem(Server):
    """`miniserve up`: up once it says that it is ready."""

    def __init__(self, *options: str, env: Mapping[str, str] | None = None, max_files: int | None = None) -> None:
        super().__init__("up", *options, env=env, max_files=max_files)

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.output()
        return re.search(r"^  ready", self.output(), re.MULTILINE) is not None

    @property
    def redis_url(self) -> str:
        return self.wait_for_line(r"^  Redis +(\S+)$", 5).group(1)

    def pids(self, role: str) -> list[int]:
        """Its direct children with that role: `api`, `worker`, or `redis`."""
        pattern = r"(redis|valkey)-server" if role == "redis" else rf"miniserve {role}\b"
        children = descendants(self.process.pid, recursive=False)
        return [pid for pid in children if re.search(pattern, command_line(pid))]
