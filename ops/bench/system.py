"""A `miniserve up` of our own for one measurement: started, waited for, stopped, asked for its totals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.up import why_not_ready


@dataclass(slots=True)
class System:
    """One running `miniserve up`."""

    url: str
    pid: int
    counters: dict[str, Any] = field(default_factory=dict)  # what the worker counted, once it has stopped; none without


@contextmanager
def serving(options: Sequence[str]) -> Iterator[System]:
    """Raises RuntimeError, with what it said, where it does not start."""
    port = free_port()
    # The worker tells its totals on a line of level info, which `up` leaves out unless it is asked for.
    logging = ("--log-format", "json", "--log-level", "info")
    command = processes.miniserve_command("up", "--port", str(port), *logging, *options)
    url = f"http://127.0.0.1:{port}"
    with processes.running(command, processes.environment({}), lambda: why_not_ready(url)) as (process, log):
        system = System(url, process.pid)
        yield system
        processes.stop(process, processes.STOP_PATIENCE_S)
        for line in processes.said(log).splitlines():
            if '"event": "worker stopped"' in line:
                system.counters = json.loads(line)
