"""Asks a replica's probes again and again, from a process of its own: `python -m ops.drills.prober PORT EVERY_S`.

Each time on a new connection, as balancers and kubelets do. A line on standard output for each: when it was sent
(monotonic clock), the path, the status (0: no answer), seconds. Ends with its standard input.
"""

from __future__ import annotations

import http.client
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_PATHS = ("/healthz", "/readyz")
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and its answer."""

    sent_s: float
    path: str
    status: int
    seconds: float


def read_probes(file: Path) -> list[Probe]:
    """What a prober has written by now."""
    rows = [line.split() for line in file.read_text().splitlines()]
    return [Probe(float(row[0]), row[1], int(row[2]), float(row[3])) for row in rows if len(row) == 4]


def _ask(port: int, path: str) -> Probe:
    sent_s = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        status = response.status
    except (OSError, http.client.HTTPException):
        status = 0
    finally:
        connection.close()
    return Probe(sent_s, path, status, time.monotonic() - sent_s)


def _run(port: int, every_s: float) -> None:
    while not select.select([sys.stdin], [], [], every_s)[0]:
        for path in _PATHS:
            probe = _ask(port, path)
            print(f"{probe.sent_s:.6f} {probe.path} {probe.status} {probe.seconds:.6f}", flush=True)


if __name__ == "__main__":
    _run(int(sys.argv[1]), float(sys.argv[2]))
