"""Bounds the connections of a process: each is an open file, and shells allow 1,024 of them by default."""

from __future__ import annotations

import resource
from typing import NamedTuple

_OTHER_FILES = 256


class ConnectionLimits(NamedTuple):
    """How many connections may be served, and how many may be open that have sent nothing yet."""

    served: int
    idle: int


def connection_limits(wanted: int) -> ConnectionLimits:
    """Shares of what the process may open; a part is always left for Redis and for Python itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - _OTHER_FILES)
    allowed = max(allowed, 64)
    idle = allowed // 4
    return ConnectionLimits(allowed - idle, idle)


def allow_connections(number: int) -> None:
    """Raise the soft limit of open files for so many connections, as far as the hard limit allows."""
    wanted = number + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
