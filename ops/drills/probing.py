"""Readiness as balancers and kubelets ask for it: each time on a new connection, from a process of its own.

`python -m ops.drills.probing PORT EVERY_S` asks a replica's probes until it is ended. A line on standard output for
each: when it was sent (monotonic clock), the path, the status (0: no answer), seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from ops.drills.figures import Figures
from ops.load.measurements import percentile
from ops.run import health
from ops.run.supervisor import Member, running


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and its answer."""

    sent_s: float
    path: str
    status: int
    seconds: float


def asking(url: str, every_s: float) -> AbstractContextManager[Member]:
    """Ask the probes of that replica until the end of the block."""
    command = (sys.executable, "-m", "ops.drills.probing", str(urlsplit(url).port), str(every_s))
    return running(Member("prober", command), lambda: None)


def read_probes(prober: Member) -> list[Probe]:
    """What a prober has written by now."""
    rows = [line.split() for line in prober.said().splitlines()]
    return [Probe(float(row[0]), row[1], int(row[2]), float(row[3])) for row in rows if len(row) == 4]


def probe_figures(probers: Iterable[Member], windows: Mapping[str, tuple[float, float]]) -> Figures:
    """Of all probes, and of those that were sent in each window."""
    found = [probe for prober in probers for probe in read_probes(prober)]
    figures: Figures = _figures(found) | {
        "healthz_not_200": sum(one.status != 200 for one in found if one.path == "/healthz")
    }
    for name, (begun_s, ended_s) in windows.items():
        figures[name] = _figures([probe for probe in found if begun_s <= probe.sent_s < ended_s])
    return figures


def _figures(found: list[Probe]) -> Figures:
    seconds = [1e3 * probe.seconds for probe in found]
    return {
        "asked": len(found), "not_200": sum(probe.status != 200 for probe in found),
        "p50_ms": percentile(seconds, 50), "p99_ms": percentile(seconds, 99), "max_ms": percentile(seconds, 100),
    }  # fmt: skip


def _ask(port: int, path: str) -> None:
    sent_s = time.monotonic()
    try:
        status, _ = health.get("127.0.0.1", port, path)
    except (OSError, ValueError):
        status = 0
    print(f"{sent_s:.6f} {path} {status} {time.monotonic() - sent_s:.6f}", flush=True)


if __name__ == "__main__":
    while True:
        for path in ("/healthz", "/readyz"):
            _ask(int(sys.argv[1]), path)
        time.sleep(float(sys.argv[2]))
