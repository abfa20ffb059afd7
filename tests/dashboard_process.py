"""A real `miniserve dashboard` on a free port."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ops.run import processes
from ops.run.embedded_redis import free_port
from tests.mailbox_house import eventually
from tests.running_system import send

OPEN = ("--dashboard-open",)


@contextmanager
def dashboard_of(redis_url: str, *options: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Its URL; without a log-in unless the options say otherwise."""
    port = free_port()
    command = processes.miniserve_command("dashboard", "--dashboard-port", str(port), *(options or OPEN))
    env = {**os.environ, "MINISERVE_REDIS_URL": redis_url, **(env or {})}
    process = processes.spawn(command, env, subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: _answers(url), within_s=20, every_s=0.05)
        yield url
    finally:
        processes.stop(process, 5.0)


def _answers(url: str) -> bool:
    try:
        return send(url, "GET", "/").status > 0
    except OSError:
        return False
