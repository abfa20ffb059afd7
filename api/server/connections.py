"""The connections of a process: how many there may be, and what one client may hold of them.

Each is an open file, and shells allow 1,024 of them by default.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler.addresses import ClientAddresses
from scheduler.errors import QueueFull, RateLimited

_OTHER_FILES = 256
_SCARCE_FROM = 0.8  # of the places; until then a client may have as many as it likes
_MANY_FROM = 0.1  # so many are open only where requests wait for their turn in this process
_SHARE = 0.05  # of the places, for one client from there on
RETRY_S = 1.0
_FULL = "This replica has as many connections as it may; try again."
_SPARE_PART = 15  # of the places: so many more connections are accepted


def num_connections(wanted: int) -> int:
    """How many of these the process may open; a part is always left for Redis and for Python itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(64, min(wanted, soft - _OTHER_FILES))


def allow_connections(number: int) -> None:
    """Raise the soft limit of open files for so many connections, as far as the hard limit allows."""
    wanted = number + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class Places:
    """The connections that are served, by client. Used in the event loop alone.

    A few more are accepted where all places are taken: for probes, and so that others read why they are refused. Behind
    a trusted proxy the client is known with each request: its share bounds the requests that it has at once.
    """

    def __init__(self, number: int, trusted_proxies: str) -> None:
        self.num_taken = 0
        self._number = number
        self._most = number + number // _SPARE_PART
        self._share = max(1, int(_SHARE * number))
        self._addresses = ClientAddresses(trusted_proxies)
        self.is_proxy = self._addresses.is_proxy
        self._held: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        return self.num_taken >= self._number

    @property
    def are_many(self) -> bool:
        return self.num_taken >= _MANY_FROM * self._number

    @property
    def are_scarce(self) -> bool:
        return self.num_taken >= _SCARCE_FROM * self._number

    def take(self, address: str) -> bool:
        """Returns whether it is one of the few more. Raises QueueFull, RateLimited."""
        if self.num_taken >= self._most:
            raise QueueFull(_FULL, RETRY_S)
        if not self.is_proxy(address):
            self._hold(self._addresses.of(address))
        self.num_taken += 1
        return self.num_taken > self._number

    def leave(self, address: str) -> None:
        self.num_taken -= 1
        if not self.is_proxy(address):
            self.exit(self._addresses.of(address))

    def enter(self, address: str, forwarded_for: str, is_spare: bool = False) -> str | None:
        """A request has come; returns whose it is where a trusted proxy names the client. Raises as `take`."""
        if is_spare and self.num_taken > self._number:
            raise QueueFull(_FULL, RETRY_S)
        if not self.is_proxy(address):
            return None
        client = self._addresses.of(address, forwarded_for)
        self._hold(client)
        return client

    def exit(self, client: str) -> None:
        """The request that `enter` has returned this for is over."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]

    def _hold(self, client: str) -> None:
        if self.are_scarce and self._held[client] >= self._share:
            raise RateLimited(
                f"Your address holds {self._held[client]:,} connections of a replica that is nearly full; at most "
                f"{self._share:,} are allowed then. Close some, or try again.",
                RETRY_S,
            )
        self._held[client] += 1


@dataclass(eq=False)
class Shared:
    """What the connections of a process have in common."""

    places: Places
    begin: Callable[[Any], None]  # of RequestHandler
    max_body_bytes: int
    keep_alive_s: float
    open: set[Any] = field(default_factory=set)  # all connections
    first_headers: str = ""  # lines of each answer
    is_stopping: bool = False
