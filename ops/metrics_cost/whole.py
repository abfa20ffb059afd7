"""CPU seconds of API, worker and Redis per answer, of two trees under the same closed loop.

Both systems are up all the time and get their load in turn, the order turning round with each round (ABBA): whatever
else the machine does in these minutes, it does to both. What a scrape costs is in it.
"""

from __future__ import annotations

import os
import re
import statistics
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path

from ops.bench import system as bench
from ops.loadtest import prompts
from ops.loadtest.arrivals import ClosedLoop, Limits
from ops.loadtest.connection import Target
from ops.loadtest.generator import Generator
from ops.metrics_cost.trees import Tree, running_from

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_ROLES = ("api", "worker", "redis-server")
_WARM_UP_S = 5.0


@dataclass(frozen=True, slots=True)
class Load:
    """What each system gets in each round."""

    clients: int
    seconds: float
    rounds: int
    scrape_every_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one tree."""

    tree: str
    answers: int
    seconds: float
    cpu_us: Mapping[str, float]  # per answer, by role

    @property
    def total_us(self) -> float:
        return sum(self.cpu_us.values())


@dataclass(slots=True)
class Comparison:
    """Of all rounds: what the second tree costs more than the first."""

    samples: list[Sample] = field(default_factory=list)

    def of(self, tree: str) -> list[Sample]:
        return [sample for sample in self.samples if sample.tree == tree]

    def mean_us(self, tree: str, role: str | None = None) -> float:
        return statistics.fmean(one.total_us if role is None else one.cpu_us[role] for one in self.of(tree))

    def more_percent(self, first: str, second: str) -> tuple[float, float]:
        """The mean over pairs of rounds, and its standard error; 0 for a single pair."""
        pairs = zip(self.of(first), self.of(second), strict=True)
        ratios = [100 * (after.total_us / before.total_us - 1) for before, after in pairs]
        error = statistics.stdev(ratios) / sqrt(len(ratios)) if len(ratios) > 1 else 0.0
        return statistics.fmean(ratios), error


def compare(trees: Sequence[Tree], load: Load) -> Iterator[Sample]:
    """The samples, as they come."""
    sentences = prompts.load(None, 0)
    with ExitStack() as stack:
        systems = {tree.name: stack.enter_context(_serving(tree)) for tree in trees}
        for system in systems.values():
            _put_load_on(system, sentences, load.clients, _WARM_UP_S)
        for number in range(load.rounds):
            for tree in trees if number % 2 == 0 else reversed(trees):
                yield _measure(tree.name, systems[tree.name], sentences, load)


@contextmanager
def _serving(tree: Tree) -> Iterator[bench.System]:
    with running_from(tree), bench.serving(["--log-level", "error", *tree.options]) as system:
        yield system


def _measure(name: str, system: bench.System, sentences: list[str], load: Load) -> Sample:
    before = cpu_seconds(system.pid)
    with _scraping(system.url, load.scrape_every_s):
        answers, seconds = _put_load_on(system, sentences, load.clients, load.seconds)
    after = cpu_seconds(system.pid)
    spent = {role: 1e6 * (after[role] - before[role]) / answers for role in _ROLES}
    return Sample(name, answers, seconds, spent)


def _put_load_on(system: bench.System, sentences: list[str], clients: int, seconds: float) -> tuple[int, float]:
    target = Target.from_url(system.url)
    done = Generator(target, sentences, ClosedLoop(clients), Limits(duration_s=seconds), None).run()
    if set(done.statuses) != {200} or done.failures:
        raise RuntimeError(f"not all were answered: {dict(done.statuses)} {dict(done.failures)}")
    return done.statuses[200], done.elapsed_s


@contextmanager
def _scraping(url: str, every_s: float) -> Iterator[None]:
    """As Prometheus does it. The earlier tree may have no such route: then this asks in vain."""
    is_over = threading.Event()

    def scrape() -> None:
        while not is_over.wait(every_s):
            with suppress(OSError):  # HTTPError is one
                urllib.request.urlopen(f"{url}/metrics", timeout=10).read()

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def cpu_seconds(up_pid: int) -> dict[str, float]:
    """Of all below a `miniserve up`, by role; those that have ended are in their parents' times. Linux only."""
    spent = dict.fromkeys(_ROLES, 0.0)
    for pid in _below(up_pid):
        with suppress(OSError):  # one that has just ended
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            role = next((role for role in _ROLES if re.search(rf"(miniserve |/|^){role}\b", command)), None)
            if role is not None:
                user, system, user_of_children, system_of_children = map(int, _stat(pid)[11:15])
                ticks = user + system + user_of_children + system_of_children
                spent[role] += ticks / _TICKS_PER_S
    return spent


def _below(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int(_stat(int(entry.name))[1])
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        children = [child for child, its_parent in parents.items() if its_parent == parent]
        found += children
        todo += children
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat behind the name, which may hold blanks: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
