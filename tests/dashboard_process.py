"""A real `miniserve dashboard` on a free port."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ops.run import processes
from ops.run.embedded_redis import free_port
from tests.running_system import child

OPEN = ("--dashboard-open",)


@contextmanager
def dashboard_of(redis_url: str, *options: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its URL; without a log-in unless the options say otherwise."""
    port = free_port()
    command = processes.miniserve_command("dashboard", "--dashboard-port", str(port), *(options or OPEN))
    with child(*command, port=port, env={**os.environ, "MINISERVE_REDIS_URL": redis_url, **(env or {})}):
        yield f"http://127.0.0.1:{port}"
