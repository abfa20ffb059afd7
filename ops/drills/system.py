"""The system under the drills: Redis, API replicas and workers, each on a free port, each easily killed.

A member that dies is started again while the drill waits, as by `miniserve up`. All are started from the main thread,
which the kernel watches for them (`processes.spawn`), and all are ended when the block ends, also by an exception.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from redis import Redis

from ops.drills.fleet import RedisFleet
from ops.drills.proxy import CountingProxy
from ops.drills.workers import slow
from ops.run import processes
from ops.run.embedded_redis import EmbeddedRedis, free_port, private_directory
from ops.run.supervisor import START_PATIENCE_S, Member, Supervisor, log_file
from ops.run.up import why_not_ready
from scheduler.settings import Settings
from worker.model.blas import configure_blas
from worker.queue.redis_py import connect

_STOP_PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.01
# Answers are kept for as long as a drill may take, so that at its end it can be seen that none is there twice.
DRILL_SETTINGS = Settings(result_ttl_s=3600, log_level="error")


class DrillError(RuntimeError):
    """The drill could not be held; the message says what did not happen."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a system is made of."""

    num_workers: int = 1
    num_apis: int = 1
    settings: Settings = DRILL_SETTINGS
    worker_command: tuple[str, ...] = ()  # empty: the worker that ships
    slowed_to_per_s: float = 0.0  # each worker ends about so many requests; 0: as many as it can
    proxied: str = ""  # name of the member that reaches Redis through the counting proxy
    unread: str = ""  # name of the member whose output is a pipe that nobody reads
    is_watched: bool = False  # a primary, a replica and three sentinels, instead of one Redis


class System:
    """Made by `running`."""

    def __init__(self, shape: Shape, directory: Path, stack: ExitStack) -> None:
        """`stack` ends what it holds."""
        self.shape = shape
        self._stack = stack
        self._worker_command = slow(shape.slowed_to_per_s) if shape.slowed_to_per_s else shape.worker_command
        if shape.is_watched:
            self.fleet = RedisFleet(directory)
            stack.callback(self.fleet.stop)
            self.redis_url = self.fleet.url()
        else:
            port = free_port() if shape.proxied else None
            self.server = EmbeddedRedis(directory, port, memory_mb=shape.settings.redis_memory_mb)
            stack.callback(self.server.stop)
            self.redis_url = self.server.url
        self.redis: Redis = stack.enter_context(connect(self.redis_url))
        if shape.proxied:
            self.proxy = CountingProxy(self.server.port or 0)
            stack.callback(self.proxy.close)
        self.urls = [f"http://127.0.0.1:{free_port()}" for _ in range(shape.num_apis)]
        self.workers = [self._member("worker", number) for number in range(1, shape.num_workers + 1)]
        self.apis = [self._member("api", number) for number in range(1, shape.num_apis + 1)]
        self.members = [*self.apis, *self.workers]  # in the order of stopping
        self._supervisor = Supervisor(self.members, [self.apis, self.workers], lambda _: None)
        stack.callback(self._supervisor.stop)

    def _member(self, role: str, number: int) -> Member:
        name, settings = f"{role} {number}", self.shape.settings
        settings = replace(settings, redis_url=self.proxy.url if name == self.shape.proxied else self.redis_url)
        command: list[str] = processes.miniserve_command(role)
        if role == "api":
            settings = replace(settings, port=int(self.urls[number - 1].rpartition(":")[2]))
        elif self._worker_command:
            command = [*self._worker_command]
        log: IO[bytes] | int = log_file()
        if name == self.shape.unread:
            reading, log = os.pipe()
            for end in (reading, log):
                self._stack.callback(os.close, end)
        env = processes.environment(settings.to_env())
        configure_blas(env)  # as the command line does: those of `workers` import NumPy at once
        return Member(name, command, env, log, _STOP_PATIENCE_S)

    def start(self) -> None:
        if self.shape.is_watched:
            self.fleet.start()
        else:
            self.server.serve()
        self._supervisor.start()
        self.wait_until(self.is_ready, START_PATIENCE_S, "all processes ready")

    def is_ready(self) -> bool:
        num_kept = sum(member.is_kept for member in self.workers)
        return self.num_live_workers() >= num_kept and all(why_not_ready(url) is None for url in self.urls)

    def num_live_workers(self) -> int:
        """Those that hold a lease, which one that has just died still does for a second."""
        seconds, _ = self.redis.time()
        return self.redis.zcount("miniserve:leases", seconds, "+inf")

    def pause(self, seconds: float) -> None:
        """Sleep, and start again what dies meanwhile. Raises DrillError where a member cannot be kept alive."""
        until_s = time.monotonic() + seconds
        while True:
            self._supervisor.revive()
            if hopeless := self._supervisor.hopeless():
                raise DrillError(f"{hopeless.name} does not start; {hopeless.last_words()}")
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(left_s, _LOOK_EVERY_S))

    def wait_until(self, is_true: Callable[[], bool], within_s: float, what: str) -> float:
        """Keep the members alive until it is so; returns the seconds it took. Raises DrillError."""
        started_s = time.monotonic()
        while not is_true():
            if time.monotonic() - started_s > within_s:
                said = "; ".join(member.last_words() for member in self.members)
                raise DrillError(f"not within {within_s:g} s: {what} ({said})")
            self.pause(_LOOK_EVERY_S)
        return time.monotonic() - started_s

    def take_away(self, member: Member) -> None:
        """SIGKILL; it stays away until somebody starts it."""
        member.is_kept = False
        member.kill()
        member.process.wait()

    def restart(self, member: Member) -> None:
        """SIGTERM, and a new process when the old one has ended; returns when it is of use."""
        member.is_kept = False
        member.process.send_signal(signal.SIGTERM)
        self.wait_until(lambda: not member.is_alive, _STOP_PATIENCE_S, f"the end of {member.name}")
        member.start()
        is_of_use: Callable[[], bool] = partial(self.is_named, member, "miniserve:leases")
        if member in self.apis:
            url = self.urls[self.apis.index(member)]
            is_of_use = lambda: why_not_ready(url) is None  # noqa: E731
        self.wait_until(is_of_use, START_PATIENCE_S, f"{member.name} ready")

    def is_named(self, member: Member, key: str) -> bool:
        """Whether a worker is in this set: of the leases, or of what workers run."""
        marker = f"-{member.process.pid}-".encode()
        return any(marker in name for name in self.redis.zrange(key, 0, -1))

    def counted(self, what: str) -> int:
        """A sum that the scripts keep."""
        return int(self.redis.hget("miniserve:counts", what) or 0)

    def num_queued(self) -> int:
        return self.redis.llen("rq:queue:correct")

    def num_running(self) -> int:
        return self.redis.zcard("rq:wip:correct")

    def num_reserved(self) -> int:
        """Requests that were accepted and have not ended."""
        return self.redis.hlen("miniserve:reservations")

    def num_stored_twice(self) -> int:
        """Requests under whose id more than one answer is stored."""
        with self.redis.pipeline(transaction=False) as pipeline:
            for key in self.redis.scan_iter("rq:results:*", count=1000):
                pipeline.xlen(key)
            return sum(length > 1 for length in pipeline.execute())


@contextmanager
def running(shape: Shape) -> Iterator[System]:
    """A system that is ready. Raises DrillError."""
    with private_directory() as directory, ExitStack() as stack:
        system = System(shape, directory, stack)
        system.start()
        yield system
