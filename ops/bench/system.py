"""A `miniserve up` of our own for one measurement: started, waited for, stopped, asked for its totals.

CPU time is that of every process of a tree, in the kernel's ticks of 10 ms.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member, running
from ops.run.up import why_not_ready

ROLES = ("api", "worker", "redis", "other")


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
    url = f"http://127.0.0.1:{port}"
    # The worker logs its totals at level info, which `up` leaves out unless it is asked for.
    logging = ("--log-format", "json", "--log-level", "info")
    command = processes.miniserve_command("up", "--port", str(port), *logging, *options)
    with running(Member("up", command, processes.environment({})), lambda: why_not_ready(url)) as up:
        system = System(url, up.process.pid)
        yield system
        up.stop()
        for line in up.said().splitlines():
            if '"event": "worker stopped"' in line:
                system.counters = json.loads(line)


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def cpu_us(pid: int) -> Counter[str]:
    """Return the CPU time of a tree of processes since they began, by role."""
    used: Counter[str] = Counter()
    for one in tree(pid):
        used[role(one)] += round(own_cpu_us(one))
    return used


def own_cpu_us(process: psutil.Process) -> float:
    """Return the CPU time of all threads of one process; 0 if it has ended."""
    with suppress(psutil.Error):
        times = process.cpu_times()
        return 1e6 * (times.user + times.system)
    return 0.0


def role(process: psutil.Process) -> str:
    """What `ps` says that it is."""
    with suppress(psutil.Error):
        command = " ".join(process.cmdline())
        if found := re.search(r"(?:miniserve|ops\.cli) (api|worker)\b|(?:redis|valkey)-server", command):
            return found[1] or "redis"
    return "other"
