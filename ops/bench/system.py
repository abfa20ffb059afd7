"""A `miniserve up` of our own for one measurement: started, waited for, stopped, asked for its totals."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from ops.run import processes
from ops.run.embedded_redis import free_port
from ops.run.up import why_not_ready
from scheduler.settings import PREFIX

_START_PATIENCE_S = 60.0
_STOP_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.05


class System:
    """One running `miniserve up`."""

    def __init__(self, url: str, pid: int, log: IO[bytes]) -> None:
        self.url = url
        self.pid = pid
        self._log = log
        self.counters: dict[str, Any] = {}  # what the worker counted, once it has stopped; empty without a worker

    def read_counters(self) -> None:
        for line in self.output().splitlines():
            if '"event": "worker stopped"' in line:
                self.counters = json.loads(line)

    def output(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


def _environment() -> dict[str, str]:
    """Without the variables of our options: what is measured is what the manifest says, whatever the shell has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


@contextmanager
def serving(options: Sequence[str]) -> Iterator[System]:
    """Raises RuntimeError, with what it said, where it does not start."""
    port = free_port()
    command = processes.miniserve_command("up", "--port", str(port), "--log-format", "json", *options)
    with tempfile.TemporaryFile() as log:
        process = processes.spawn(command, _environment(), output=log)
        system = System(f"http://127.0.0.1:{port}", process.pid, log)
        try:
            deadline = time.monotonic() + _START_PATIENCE_S
            while (reason := why_not_ready(system.url)) is not None:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(
                        f"`miniserve up {' '.join(options)}` does not start ({reason}):\n{system.output()}"
                    )
                time.sleep(_LOOK_EVERY_S)
            yield system
        finally:
            processes.stop(process, _STOP_PATIENCE_S)
        system.read_counters()
