"""How many connections this process may have: each is an open file, and shells allow 1,024 of them by default."""

from __future__ import annotations

import resource

_OTHER_FILES = 256


def allow_connections(number: int) -> None:
    """Raise the soft limit so far, or as far as the hard limit lets it."""
    wanted = number + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
