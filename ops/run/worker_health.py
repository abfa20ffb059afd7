"""Container health of a worker: `python -m ops.run.worker_health` exits 0 while a worker of this host holds its lease.

The worker renews the lease only while its loop turns, so that a hung or stopped worker is unhealthy, not only a dead
one. Needs the container's own hostname, which is part of the worker's name.
"""

from __future__ import annotations

import os
import socket
import sys

import redis

from scheduler.settings import Settings
from worker.mailbox.connection import connect


def is_healthy(redis_url: str, hostname: str) -> bool:
    """True if a lease of a worker on this host has not run out."""
    prefix = "".join(letter if letter.isalnum() else "-" for letter in hostname) + "-"
    with connect(redis_url) as client:
        seconds, _ = client.time()
        leases = client.zrangebyscore("miniserve:leases", seconds, "+inf")
    return any(name.decode().startswith(prefix) for name in leases)


if __name__ == "__main__":
    try:
        healthy = is_healthy(Settings.from_env(os.environ).redis_url, socket.gethostname())
    except redis.RedisError as error:
        sys.exit(f"Redis does not answer: {error}")
    sys.exit(0 if healthy else "no worker of this host holds a lease")
