"""Measures what a viewer of `/ops` costs: `python -m tests.live_cost [RATE [PAIRS [TIMES]]]`.

CPU of a whole system without and with a viewer, in turn, at RATE corrections a second (0: idle). With TIMES, what is
done for a viewer is done so often, and what it costs is divided by it. The figures are in docs/benchmarks.md.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from ops.bench.system import ROLES, cpu_us
from ops.load import prompts
from ops.load.arrivals import Limits, OpenLoop
from ops.load.client import Client
from ops.load.generator import Generator
from tests.running_system import RunningSystem

SPAN_S = 8.0
SETTLES_S = 2.0  # until workers have heard of a viewer
FORGETS_S = 4.5  # until they have forgotten the last
PERCENT = 1e4  # microseconds in a hundredth of a second


@contextmanager
def viewer(url: str) -> Iterator[None]:
    is_over = threading.Event()

    def watch() -> None:
        with urllib.request.urlopen(f"{url}/ops/events") as response:
            while not is_over.is_set():
                response.readline()

    thread = threading.Thread(target=watch)
    thread.start()
    time.sleep(SETTLES_S)
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        time.sleep(FORGETS_S)


def spent(system: RunningSystem, rate: float, seed: int) -> tuple[Counter[str], float]:
    """CPU of the system's processes by role, in percent of a core; and seconds that were stolen."""
    client = Client(f"http://127.0.0.1:{urlsplit(system.url).port}")
    stolen_s, before, began_s = psutil.cpu_times().steal, cpu_us(system.process.pid), time.monotonic()
    if rate:
        Generator(client, prompts.load(None, 0), OpenLoop(rate, seed, 256), Limits(duration_s=SPAN_S)).run()
    else:
        time.sleep(SPAN_S)
    after, lasted_s = cpu_us(system.process.pid), time.monotonic() - began_s
    used = {role: (after[role] - before[role]) / lasted_s / PERCENT for role in ROLES}
    return Counter(used), psutil.cpu_times().steal - stolen_s


def pairs(system: RunningSystem, rate: float, number: int) -> Iterator[tuple[dict[str, float], float, float]]:
    """Of each pair: what the viewer costs by role, what all costs without it, and the time that was stolen."""
    for seed in range(number):
        found = {}
        for is_watched in (seed % 2 == 0, seed % 2 == 1):
            if is_watched:
                with viewer(system.url):
                    found[True] = spent(system, rate, seed)
            else:
                found[False] = spent(system, rate, seed)
        (there, stolen), (bare, stolen_bare) = found[True], found[False]
        yield {role: there[role] - bare[role] for role in ROLES}, sum(bare.values()), stolen + stolen_bare


def main(rate: float = 200.0, number: float = 14, times: float = 1) -> None:
    repeated = {"PYTHONPATH": str(Path(__file__).with_name("live_times")), "LIVE_TIMES": f"{times:.0f}"}
    with RunningSystem(env=repeated) as system:
        spent(system, rate or 60.0, 0)  # warm
        found = sorted(pairs(system, rate, int(number)), key=lambda pair: pair[2])
    calm = found[: -(-2 * len(found) // 3)]
    for name, some in (("all", found), ("calm", calm)):
        more = [sum(pair[0].values()) / times for pair in some]
        roles = {role: round(statistics.mean(pair[0][role] for pair in some) / times, 2) for role in ROLES}
        bare, error = statistics.mean(pair[1] for pair in some), statistics.stdev(more) / len(more) ** 0.5
        costs = f"{statistics.mean(more):+.2f} (standard error {error:.2f}, median {statistics.median(more):+.2f})"
        print(f"{name} {len(some)} pairs at {rate:g}/s: {bare:.1f} % of a core without; a viewer {costs}, {roles}")
        print(sorted(round(one, 2) for one in more))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
