"""The system under the drills: Redis, API replicas and workers of our own, each on a free port, each easily killed.

A member that dies is started again while the drill waits, within a few hundredths of a second. There is no back-off:
here somebody kills it on purpose. All are started from the main thread, which the kernel watches for them
(`processes.spawn`), and all are ended when the block ends, also by an exception.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from redis import Redis

from ops.drills.fleet import RedisFleet
from ops.drills.proxy import CountingProxy
from ops.run import embedded_redis, processes
from ops.run.up import why_not_ready
from scheduler.settings import Settings
from worker.queue.redis_py import connect

START_PATIENCE_S = 60.0
_STOP_PATIENCE_S = 20.0
_LOOK_EVERY_S = 0.01
_MOST_BAD_STARTS = 3
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
    proxied: str = ""  # name of the member that reaches Redis through the counting proxy
    unread: str = ""  # name of the member whose output is a pipe that nobody reads
    is_watched: bool = False  # a primary, a replica and three sentinels, instead of one Redis


@dataclass(slots=True)
class Member(processes.Member):
    """One that is started again when it dies."""

    url: str = ""  # of an API replica
    is_kept: bool = True
    num_bad_starts: int = 0

    def bring_back(self) -> None:
        self.start()
        self.is_kept = True


class System:
    """Made by `running`."""

    def __init__(self, shape: Shape, directory: Path) -> None:
        self.shape = shape
        self._fleet = RedisFleet(directory) if shape.is_watched else None
        if self._fleet is None:
            port = embedded_redis.free_port() if shape.proxied else None
            self.server = embedded_redis.start(directory, port, memory_mb=shape.settings.redis_memory_mb)
        self.redis_url = self.server.url if self._fleet is None else self._fleet.url()
        self.redis: Redis = connect(self.redis_url)
        self._proxy = CountingProxy(self.server.port or 0) if shape.proxied else None
        self._directory = directory
        self._unread = -1
        numbers = range(1, shape.num_workers + 1)
        self.workers = [self._member(f"worker {number}", "worker", shape.settings) for number in numbers]
        self.apis = [self._api(number) for number in range(1, shape.num_apis + 1)]

    @property
    def fleet(self) -> RedisFleet:
        assert self._fleet is not None
        return self._fleet

    @property
    def proxy(self) -> CountingProxy:
        assert self._proxy is not None
        return self._proxy

    @property
    def members(self) -> list[Member]:
        return [*self.apis, *self.workers]  # in the order of stopping

    @property
    def urls(self) -> list[str]:
        return [member.url for member in self.apis]

    def _api(self, number: int) -> Member:
        port = embedded_redis.free_port()
        member = self._member(f"api {number}", "api", replace(self.shape.settings, port=port))
        member.url = f"http://127.0.0.1:{port}"
        return member

    def _member(self, name: str, role: str, settings: Settings) -> Member:
        is_proxied = name == self.shape.proxied
        settings = replace(settings, redis_url=self.proxy.url if is_proxied else self.redis_url)
        command = processes.miniserve_command(role)
        if role == "worker" and self.shape.worker_command:
            command = list(self.shape.worker_command)
        log = self._directory / f"{name.replace(' ', '-')}.log"
        if name == self.shape.unread:
            os.mkfifo(log)
            self._unread = os.open(log, os.O_RDWR)  # one end is open for reading
        return Member(name, command, processes.environment(settings.to_env()), log)

    def start(self) -> None:
        if self._fleet is not None:
            self.fleet.start()
        for member in self.members:
            member.start()
        self.wait_until(self.is_ready, START_PATIENCE_S, "all processes ready")

    def is_ready(self) -> bool:
        num_kept = sum(member.is_kept for member in self.workers)
        return self.num_live_workers() >= num_kept and all(why_not_ready(url) is None for url in self.urls)

    def num_live_workers(self) -> int:
        """Those that hold a lease, which one that has just died still does for a second."""
        seconds, _ = self.redis.time()
        return self.redis.zcount("miniserve:leases", seconds, "+inf")

    def tend(self) -> None:
        """Start what has died again."""
        for member in self.members:
            if member.is_kept and not member.is_alive:
                returncode = member.process.returncode
                member.num_bad_starts = 0 if returncode < 0 else member.num_bad_starts + 1
                if member.num_bad_starts > _MOST_BAD_STARTS:
                    raise DrillError(f"{member.name} ends with exit status {returncode}; {member.said()}")
                processes.kill_group(member.process.pid)
                member.start()

    def pause(self, seconds: float) -> None:
        """Sleep, and keep the members alive meanwhile."""
        until_s = time.monotonic() + seconds
        while True:
            self.tend()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(left_s, _LOOK_EVERY_S))

    def wait_until(self, is_true: Callable[[], bool], within_s: float, what: str) -> float:
        """Keep the members alive until it is so; returns the seconds it took. Raises DrillError."""
        started_s = time.monotonic()
        while not is_true():
            if time.monotonic() - started_s > within_s:
                raise DrillError(f"not within {within_s:g} s: {what} ({self.said()})")
            self.pause(_LOOK_EVERY_S)
        return time.monotonic() - started_s

    def said(self) -> str:
        members = [*self.members, *(self._fleet.members if self._fleet else ())]
        return "; ".join(member.said() for member in members)

    def kill_one(self, members: list[Member], rng: random.Random) -> None:
        """SIGKILL to one of those that live, once one does."""
        self.wait_until(lambda: any(member.is_alive for member in members), 10.0, "one to kill")
        rng.choice([member for member in members if member.is_alive]).kill()

    def kill_holder(self, rng: random.Random) -> None:
        """SIGKILL to a worker that holds requests. It is stopped first, or it could answer the last before it dies."""
        self.wait_until(lambda: self._killed_holder(rng), 10.0, "a worker that holds a request")

    def _killed_holder(self, rng: random.Random) -> bool:
        for member in rng.sample(self.workers, len(self.workers)):
            if member.is_alive:
                member.process.send_signal(signal.SIGSTOP)
                if self._is_named(member, "rq:wip:correct"):
                    member.kill()
                    return True
                member.process.send_signal(signal.SIGCONT)
        return False

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
        member.bring_back()
        if member.url:
            self.wait_until(lambda: why_not_ready(member.url) is None, START_PATIENCE_S, f"{member.name} ready")
        else:
            has_lease = partial(self._is_named, member, "miniserve:leases")
            self.wait_until(has_lease, START_PATIENCE_S, f"{member.name} ready")

    def _is_named(self, member: Member, key: str) -> bool:
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

    def kill_redis(self) -> None:
        self.server.process.kill()
        self.server.process.wait()

    def start_redis(self) -> None:
        """The same port and the same directory; returns when it answers."""
        memory_mb = self.shape.settings.redis_memory_mb
        self.server = embedded_redis.start(self._directory, self.server.port, memory_mb=memory_mb)

    def end(self) -> None:
        for member in self.members:
            member.is_kept = False
        for group in (self.apis, self.workers):
            for member in group:
                if member.is_alive:
                    member.process.terminate()
            for member in group:
                member.stop(_STOP_PATIENCE_S)
        if self._proxy is not None:
            self._proxy.close()
        self.redis.close()
        if self._unread >= 0:
            os.close(self._unread)
        (self._fleet or self.server).stop()


@contextmanager
def running(shape: Shape) -> Iterator[System]:
    """A system that is ready. Raises DrillError."""
    with embedded_redis.private_directory() as directory:
        system = System(shape, directory)
        try:
            system.start()
            yield system
        finally:
            system.end()
