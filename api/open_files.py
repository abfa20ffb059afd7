"""How many connections this process may have: each is an open file, and shells allow 1,024 of them by default."""

from __future__ import annotations

import resource
from typing import NamedTuple

_OTHER_FILES = 256


class Places(NamedTuple):
    """How many connections may be served, those about to be taken in among them, and how many say nothing yet."""

    served: int
    silent: int


def places(wanted: int) -> Places:
    """Shares of what the process may open; a part is always left for Redis, and for Python itself."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - _OTHER_FILES)
    allowed = max(allowed, 64)
    silent = allowed // 4
    return Places(allowed - silent, silent)


def allow_connections(number: int) -> None:
    """Raise the soft limit so far, or as far as the hard limit lets it."""
    wanted = number + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
