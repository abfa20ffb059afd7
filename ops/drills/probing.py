"""The drill that asks for readiness: under load, under overload, and of a worker that is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from ops.drills.drill import Findings, Stage, Tally, at_most, equal, percentile
from ops.drills.prober import Probe, read_probes
from ops.drills.system import Shape, System
from ops.load.arrivals import ClosedLoop

_CLIENTS = 16
_LOAD, _OVERLOAD = 0.8, 10
_EVERY_S = 0.02
_PATIENCE_S = 10.0


def probes(stage: Stage) -> Findings:
    """A replica's probes, asked from a process of its own: p99 at most 25 ms at 0.8 load, 1 s at most at ten times the
    peak; /readyz says 503 within 3 s of a worker that is stopped, 200 within 1 s of its going on; /healthz always 200.
    """
    questions = stage.questions()
    with stage.system(Shape()) as system, asking(system.urls[0], _EVERY_S) as rows:
        closed = stage.load(system, questions, ClosedLoop(_CLIENTS), stage.size(10.0, 2.0))
        peak_per_s = len(closed.ended) / stage.size(10.0, 2.0)
        seconds = stage.size(30.0, 2.0)
        begun_s = time.monotonic()
        stage.load(system, questions, stage.open_loop(_LOAD * peak_per_s), seconds)
        loaded_s = time.monotonic()
        over = stage.load(system, questions, stage.open_loop(_OVERLOAD * peak_per_s), stage.size(20.0, 2.0))
        over_s = time.monotonic()
        system.wait_until(lambda: system.redis.hlen("miniserve:reservations") == 0, 60.0, "an empty queue")
        stopped_s, resumed_s = _stop_and_go_on(system, rows)
        found = read_probes(rows)
    steady = [probe for probe in found if begun_s <= probe.sent_s < loaded_s]
    overloaded = [probe for probe in found if loaded_s <= probe.sent_s < over_s]
    off_s = _first(found, 503, stopped_s) - stopped_s
    on_s = _first(found, 200, resumed_s) - resumed_s
    alive = [probe for probe in found if probe.path == "/healthz"]
    checks = [
        equal("healthz not 200", sum(probe.status != 200 for probe in alive), 0),
        equal("readyz not 200 under load", sum(probe.status != 200 for probe in steady), 0),
        at_most("probes p99 ms", percentile(_ms(steady), 99), 25),
        at_most("slowest probe in overload ms", percentile(_ms(overloaded), 100), 1000),
        at_most("readyz 503 after s", round(off_s, 2), 3.0),
        at_most("readyz 200 after s", round(on_s, 2), 1.0),
    ]
    details = {
        "peak_per_s": round(peak_per_s, 1), "probes": len(steady), "probes_in_overload": len(overloaded),
        "p50_ms": percentile(_ms(steady), 50), "overload_p99_ms": percentile(_ms(overloaded), 99),
    }  # fmt: skip
    return Findings(Tally(requests=len(over.ended)), checks, details)


@contextmanager
def asking(url: str, every_s: float) -> Iterator[Path]:
    """Ask the probes of that replica until the end of the block; yields the file of the answers."""
    port = urlsplit(url).port
    with TemporaryDirectory() as directory:
        rows = Path(directory) / "probes"
        with rows.open("wb") as file:
            command = [sys.executable, "-m", "ops.drills.prober", str(port), str(every_s)]
            prober = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file)
        try:
            yield rows
        finally:
            prober.stdin.close()
            prober.wait(_PATIENCE_S)


def _stop_and_go_on(system: System, rows: Path) -> tuple[float, float]:
    """When the worker was stopped, and when it went on."""
    (worker,) = system.workers
    stopped_s = time.monotonic()
    worker.process.send_signal(signal.SIGSTOP)
    system.wait_until(lambda: _first(read_probes(rows), 503, stopped_s) > 0, _PATIENCE_S, "503 of /readyz")
    resumed_s = time.monotonic()
    worker.process.send_signal(signal.SIGCONT)
    system.wait_until(lambda: _first(read_probes(rows), 200, resumed_s) > 0, _PATIENCE_S, "200 of /readyz")
    return stopped_s, resumed_s


def _first(found: list[Probe], status: int, since_s: float) -> float:
    """When /readyz first answered so; 0 where it has not."""
    hits = [probe for probe in found if probe.path == "/readyz" and probe.status == status and probe.sent_s > since_s]
    return hits[0].sent_s + hits[0].seconds if hits else 0.0


def _ms(found: list[Probe]) -> list[float]:
    return [1e3 * probe.seconds for probe in found]
