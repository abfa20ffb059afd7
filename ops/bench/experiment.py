"""What the experiments over HTTP have in common: cases in rounds, one row a load, medians."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ops.bench.system import System, cpu_us, serving, started
from ops.load import prompts
from ops.load.arrivals import Arrivals, Limits, arrivals_of
from ops.load.measurements import Measurements, measure
from ops.load.traffic import MEASURED, Traffic
from ops.tables import table

Row = dict[str, Any]

QUANTILES = tuple(f"q{percent}" for percent in range(101))  # latencies in ms: what a distribution is drawn from
LOAD_COLUMNS = (
    "run", "load", "requests", "seconds", "throughput_per_s", "p50_ms", "p95_ms", "p99_ms", "max_ms", "not_ok",
)  # fmt: skip
_HEADINGS = {
    "setting": "setting", "server": "server", "mode": "mode", "load": "load", "throughput_per_s": ">corrections/s",
    "times_unbatched": ">x", "p50_ms": ">p50 ms", "p95_ms": ">p95 ms", "p99_ms": ">p99 ms", "not_ok": ">not answered",
    "mean_prefill_batch": ">sequences a batch", "cpu_us": ">CPU us a request",
}  # fmt: skip
_DECIMALS = dict.fromkeys(("clients", "slots", "throughput_per_s", "cpu_us", "not_ok"), 0) | {"times_unbatched": 2}
_WARM_UP = Limits(total=100)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to serve."""

    label: str
    columns: Row  # what the rows say of it
    options: tuple[str, ...] = ()  # of `miniserve up`
    command: tuple[str, ...] = ()  # of another server in its place, which takes the port as its last argument
    path: str = "/correct"

    def serving(self) -> AbstractContextManager[System]:
        return started(self.command, self.path) if self.command else serving(self.options)


@dataclass(frozen=True, slots=True)
class Load:
    """One way to ask."""

    label: str
    limits: Limits
    concurrency: int | None = None
    rate_per_s: float | None = None

    def arrivals(self, seed: int) -> Arrivals:
        return arrivals_of(self.concurrency or 0, self.rate_per_s, seed)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    num_runs: int = 3
    seed: int = 0
    scale: float = 1.0  # of durations and numbers of requests; for a quick look
    static: tuple[int, float] = (16, 20.0)  # max_batch and max_wait_ms of static batching at its best

    def clients(self, times: int = 1) -> Load:
        """Fifty, with 500 requests or so many times as many."""
        total = round(times * 500 * self.scale)
        return Load(f"50 clients, {total}", Limits(total=total), 50)


def measured(cases: Sequence[Case], loads: Sequence[Load], plan: Plan, what: str) -> Iterator[Row]:
    """Every case once, then all of them again, so that a slow quarter of an hour hits all alike. With a bar."""
    with tqdm(total=plan.num_runs * len(cases), desc=what, unit="server") as bar:
        for run in range(1, plan.num_runs + 1):
            for case in cases:
                bar.set_postfix_str(f"run {run}: {case.label}")
                yield from measure_case(case, loads, run, plan)
                bar.update()


def measure_case(case: Case, loads: Sequence[Load], run: int, plan: Plan) -> list[Row]:
    """A fresh server, a warm-up, then each load; a row each once the server has stopped and logged its totals."""
    seed = plan.seed + run
    questions = prompts.questions(prompts.load(None, seed))
    rows: list[Row] = []

    with case.serving() as system:

        def put(load: Load, limits: Limits) -> Measurements:
            habits = replace(MEASURED, path=case.path)
            return measure(Traffic([system.url], questions, load.arrivals(seed), limits, habits))

        put(loads[0], _WARM_UP)
        for load in loads:
            before_us = cpu_us(system.pid).total()
            columns = as_columns(found := put(load, load.limits))
            spent_us = (cpu_us(system.pid).total() - before_us) / max(1, found.statuses[200])
            about = {"run": run, "load": load.label, "clients": load.concurrency or ""}
            rows.append(about | case.columns | {"cpu_us": spent_us} | columns)
    mean_batch = system.counters.get("mean_prefill_batch", np.nan)  # of all loads; a mode without a worker has none
    return [row | {"mean_prefill_batch": mean_batch} for row in rows]


def as_columns(measured: Measurements) -> Row:
    summary = measured.summary(slo_ms=None)
    latencies_ms = 1e3 * np.array(measured.latencies_s or [np.nan])
    quantiles = np.percentile(latencies_ms, range(101)).round(3)
    return {
        **{name: np.nan if (value := summary[name]) is None else value for name in LOAD_COLUMNS if name in summary},
        "not_ok": measured.num_over - measured.statuses[200],
        **dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
    }


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Each as it comes, so that an experiment that is interrupted leaves what it has measured."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()


def read_rows(path: Path) -> list[Row]:
    """Numbers as numbers."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def medians(rows: Iterable[Row], by: Sequence[str], columns: Sequence[str]) -> dict[str, list[Any]]:
    """A list for each column: what rows have in common that agree in `by`, in order of appearance, and their medians.

    NaN where a run has no value: it had no answers.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    keys = {name: [key[place] for key in groups] for place, name in enumerate(by)}
    return keys | {
        name: [float(np.median([row[name] for row in some])) for some in groups.values()] for name in columns
    }


def medians_table(rows: Iterable[Row], by: Sequence[str], columns: Sequence[str]) -> str:
    found = medians(rows, by, columns)
    headings = [_HEADINGS.get(name, f">{name}") for name in found]
    return table(headings, zip(*([_cell(name, value) for value in found[name]] for name in found), strict=True))


def _cell(column: str, value: float | str) -> str | None:
    if isinstance(value, str):
        return value
    return None if np.isnan(value) else f"{value:,.{_DECIMALS.get(column, 1)}f}"
