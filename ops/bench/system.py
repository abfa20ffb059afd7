"""A server of our own for one measurement: started, waited for, stopped, asked for its totals.

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

from ops.load.client import Client, fetch
from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member, running
from worker.model.blas import THREAD_VARIABLES

# The worker logs its totals at level info, which `up` leaves out unless it is asked for.
UP = ("up", "--log-format", "json", "--log-level", "info")


@dataclass(slots=True)
class System:
    """A running `miniserve up`, or another server around the same corrector."""

    url: str
    pid: int
    counters: dict[str, Any] = field(default_factory=dict)  # what the worker counted, once it has stopped; none without


@contextmanager
def serving(options: Sequence[str]) -> Iterator[System]:
    """A `miniserve up`. Raises RuntimeError, with what it said, where it does not start."""
    with started(processes.miniserve_command(*UP, *options, "--port")) as system:
        yield system


@contextmanager
def started(command: Sequence[str], path: str = "/correct") -> Iterator[System]:
    """A server that takes its port as the last argument, from when it corrects what is posted to `path`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    member = Member("server", [*command, str(port)], processes.environment(dict.fromkeys(THREAD_VARIABLES, "1")))
    with running(member, lambda: _why_not(url, path)) as server:
        system = System(url, server.process.pid)
        yield system
        server.stop()
        for line in server.said().splitlines():
            if '"event": "worker stopped"' in line:
                system.counters = json.loads(line)


def _why_not(url: str, path: str) -> str | None:
    body = json.dumps({"sentence": "He goed to school."}).encode()
    try:
        status = fetch(Client(url), "POST", path, body, patience_s=10.0).status
    except OSError:
        return "no answer"
    return None if status == 200 else f"it answers {status}"


def cpu_us(pid: int) -> Counter[str]:
    """Return the CPU time of a tree of processes since they began, by role, without those that have ended."""
    used: Counter[str] = Counter()
    parent = psutil.Process(pid)
    for process in [parent, *parent.children(recursive=True)]:
        with suppress(psutil.Error):
            times = process.cpu_times()
            used[_role(process)] += round(1e6 * (times.user + times.system))
    return used


def _role(process: psutil.Process) -> str:
    """What `ps` says that it is."""
    command = " ".join(process.cmdline())
    found = re.search(r"(?:miniserve|ops\.cli) (api|worker)\b|(?:redis|valkey)-server", command)
    return (found[1] or "redis") if found else "other"
