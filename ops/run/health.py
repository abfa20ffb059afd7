"""Health checks of containers: `python -m ops.run.health http PORT PATH STATUS | worker`.

Exits 0 or says in one line what is wrong. It is run every few seconds for as long as a container lives, and so is no
command of `miniserve`: what a check does not need is not imported.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing

PATIENCE_S = 3.0
_REDIS_PATIENCE_S = 1.5  # twice that, to connect and to read, is less than what a container is given
_MOST_FIELDS = 100  # of a head


def http_fault(port: str, path: str, wanted: str) -> str:
    """What is wrong with the answer to GET `path` on loopback; nothing if its status is the wanted one."""
    asked = f"GET {path} on port {port}"
    try:
        status, _ = get("127.0.0.1", int(port), path)
    except (OSError, ValueError) as error:
        return f"{asked}: {error}"
    return "" if status == int(wanted) else f"{asked} answers {status}, not {wanted}"


def get(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Status and body, up to 64 KiB. Raises OSError, and ValueError where the answer is no HTTP."""
    with socket.create_connection((host, port), PATIENCE_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        with connection.makefile("rb") as answer:
            version, _, rest = answer.readline(256).partition(b" ")
            if not version.startswith(b"HTTP/1."):
                raise ValueError("the answer is no HTTP")
            length = 0
            for _ in range(_MOST_FIELDS):
                name, _, value = answer.readline(8192).partition(b":")
                if name.lower() == b"content-length":
                    length = max(0, int(value))
                elif not name.strip():
                    break
            return int(rest[:3]), answer.read(min(length, 65_536))


def worker_fault() -> str:
    """A worker renews its lease only while its loop turns, so that a hung one is unhealthy, not only a dead one."""
    from scheduler.settings import Settings
    from worker.queue.line import ResponseError

    try:
        if not (redis_url := Settings.from_env(os.environ).redis_url):
            return "no Redis is named: set MINISERVE_REDIS_URL"
        is_healthy = has_lease(redis_url, socket.gethostname())
    except (OSError, ResponseError) as error:
        return f"Redis does not answer: {error}"
    return "" if is_healthy else "no worker of this host holds a lease"


def has_lease(redis_url: str, hostname: str) -> bool:
    """True if a lease of a worker on this host, which is part of its name, has not run out."""
    from worker.queue.line import Line

    prefix = "".join(letter if letter.isalnum() else "-" for letter in hostname) + "-"
    with closing(Line(redis_url, _REDIS_PATIENCE_S)) as line:
        line.connect()
        seconds, _ = line.call("TIME")
        leases = line.call("ZRANGEBYSCORE", "miniserve:leases", seconds, "+inf")
    return any(name.decode().startswith(prefix) for name in leases)


if __name__ == "__main__":
    checks: dict[str, Callable[..., str]] = {"http": http_fault, "worker": worker_fault}
    sys.exit(checks[sys.argv[1]](*sys.argv[2:]) or 0)
