"""The drill that asks for readiness: under load, under overload, and of a worker that is stopped.

`python -m ops.drills.probing PORT EVERY_S` asks a replica's probes from a process of its own, each time on a new
connection, as balancers and kubelets do. A line on standard output for each: when it was sent (monotonic clock), the
path, the status (0: no answer), seconds. It ends with its standard input.
"""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from ops.drills.drill import Findings, Stage, Tally, at_most, equal, percentile
from ops.drills.system import Shape, System
from ops.load.arrivals import ClosedLoop
from ops.run import health

_CLIENTS = 16
_LOAD, _OVERLOAD = 0.8, 10
_EVERY_S = 0.02
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and its answer."""

    sent_s: float
    path: str
    status: int
    seconds: float


def probes(stage: Stage) -> Findings:
    """A replica's probes, asked from a process of its own: p99 at most 25 ms at 0.8 load, 1 s at most at ten times the
    peak; /readyz says 503 within 3 s of a worker that is stopped, 200 within 1 s of its going on; /healthz always 200.
    """
    questions, seconds = stage.questions(), stage.size(10.0, 2.0)
    with stage.system(Shape()) as system, asking(system.urls[0], _EVERY_S) as rows:
        peak_per_s = len(stage.load(system, questions, ClosedLoop(_CLIENTS), seconds)) / seconds
        begun_s = time.monotonic()
        stage.load(system, questions, stage.open_loop(_LOAD * peak_per_s), stage.size(30.0, 2.0))
        loaded_s = time.monotonic()
        over = stage.load(system, questions, stage.open_loop(_OVERLOAD * peak_per_s), stage.size(20.0, 2.0))
        over_s = time.monotonic()
        system.wait_until(lambda: system.num_reserved() == 0, 60.0, "an empty queue")
        off_s = _answers_after(system, rows, signal.SIGSTOP, 503)
        on_s = _answers_after(system, rows, signal.SIGCONT, 200)
        found = read_probes(rows)
    steady = [probe for probe in found if begun_s <= probe.sent_s < loaded_s]
    overloaded = [probe for probe in found if loaded_s <= probe.sent_s < over_s]
    checks = [
        equal("healthz not 200", sum(one.status != 200 for one in found if one.path == "/healthz"), 0),
        equal("readyz not 200 under load", sum(probe.status != 200 for probe in steady), 0),
        at_most("probes p99 ms", _ms(steady, 99), 25),
        at_most("slowest probe in overload ms", _ms(overloaded, 100), 1000),
        at_most("readyz 503 after s", off_s, 3.0),
        at_most("readyz 200 after s", on_s, 1.0),
    ]
    details = {
        "peak_per_s": round(peak_per_s, 1), "probes": len(steady), "probes_in_overload": len(overloaded),
        "p50_ms": _ms(steady, 50), "overload_p99_ms": _ms(overloaded, 99),
    }  # fmt: skip
    return Findings(Tally(requests=len(over)), checks, details)


def _answers_after(system: System, rows: Path, number: signal.Signals, status: int) -> float:
    """Send the worker a signal; the seconds until /readyz answers so."""
    sent_s = time.monotonic()
    system.workers[0].process.send_signal(number)

    def answered_s() -> float:
        hits = (one for one in read_probes(rows) if one.path == "/readyz" and one.status == status)
        return next((one.sent_s + one.seconds for one in hits if one.sent_s > sent_s), 0.0)

    system.wait_until(lambda: answered_s() > 0, _PATIENCE_S, f"{status} of /readyz")
    return round(answered_s() - sent_s, 2)


def _ms(found: list[Probe], percent: float) -> float | None:
    return percentile([1e3 * probe.seconds for probe in found], percent)


@contextmanager
def asking(url: str, every_s: float) -> Iterator[Path]:
    """Ask the probes of that replica until the end of the block; yields the file of the answers."""
    with TemporaryDirectory() as directory:
        rows = Path(directory) / "probes"
        with rows.open("wb") as file:
            command = [sys.executable, "-m", "ops.drills.probing", str(urlsplit(url).port), str(every_s)]
            prober = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file)
        try:
            yield rows
        finally:
            prober.communicate(timeout=_PATIENCE_S)


def read_probes(file: Path) -> list[Probe]:
    """What a prober has written by now."""
    rows = [line.split() for line in file.read_text().splitlines()]
    return [Probe(float(row[0]), row[1], int(row[2]), float(row[3])) for row in rows if len(row) == 4]


def _ask(port: int, path: str) -> tuple[float, int]:
    sent_s = time.monotonic()
    try:
        status, _ = health.get("127.0.0.1", port, path)
    except (OSError, ValueError):
        status = 0
    return sent_s, status


if __name__ == "__main__":
    while not select.select([sys.stdin], [], [], float(sys.argv[2]))[0]:
        for path in ("/healthz", "/readyz"):
            sent_s, status = _ask(int(sys.argv[1]), path)
            print(f"{sent_s:.6f} {path} {status} {time.monotonic() - sent_s:.6f}", flush=True)
