"""What the experiments over HTTP have in common: cases, rounds, one row a load, medians."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from ops.bench.system import serving
from ops.load import prompts
from ops.load.arrivals import Arrivals, ClosedLoop, Limits, arrivals_of
from ops.load.client import Client
from ops.load.generator import Generator
from ops.load.measurements import Measurements
from ops.tables import table

Row = dict[str, Any]

QUANTILES = tuple(f"q{percent}" for percent in range(101))  # latencies in ms: what a distribution is drawn from
LOAD_COLUMNS = (
    "run", "load", "requests", "seconds", "throughput_per_s", "p50_ms", "p95_ms", "p99_ms", "max_ms", "not_ok",
)  # fmt: skip
# Of the worker, warm-up included. A mode without one does not count, nor does a worker that was killed.
COUNTERS = ("mean_prefill_batch", "mean_decode_batch", "peak_running", "mean_prompt_tokens")
_HEADINGS = {
    "setting": "setting", "server": "server", "mode": "mode", "load": "load", "throughput_per_s": ">corrections/s",
    "times_unbatched": ">x", "p50_ms": ">p50 ms", "p95_ms": ">p95 ms", "p99_ms": ">p99 ms", "not_ok": ">not answered",
    "mean_prefill_batch": ">sequences a batch", "cpu_us": ">CPU us a request",
}  # fmt: skip
_DECIMALS = dict.fromkeys(("clients", "slots", "throughput_per_s", "cpu_us", "not_ok"), 0) | {"times_unbatched": 2}
_WARM_UP_REQUESTS = 100
_WARM_UP_CLIENTS = 8


@dataclass(frozen=True, slots=True)
class Case:
    """One way to serve: how it is called in the figures, and the options of `miniserve up` that make it."""

    label: str
    options: tuple[str, ...]
    columns: Row  # what the rows say of it


@dataclass(frozen=True, slots=True)
class Load:
    """One way to ask."""

    label: str
    limits: Limits
    concurrency: int | None = None
    rate_per_s: float | None = None

    def arrivals(self, seed: int) -> Arrivals:
        return arrivals_of(self.concurrency or _WARM_UP_CLIENTS, self.rate_per_s, seed)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    num_runs: int = 3
    seed: int = 0
    concurrency: int = 50
    total: int = 500
    scale: float = 1.0  # of durations; for a quick look
    sentences: str | None = None  # a file of them


def measure_case(case: Case, loads: Sequence[Load], run: int, seed: int) -> Iterator[Row]:
    """A fresh server, a warm-up, then each load; a row each once the server has stopped and logged its totals."""
    sentences = prompts.load(None, seed + run)
    rows = []
    with serving(case.options) as system:
        client = Client(system.url)
        warm_up = ClosedLoop(loads[0].concurrency or _WARM_UP_CLIENTS)
        Generator(client, sentences, warm_up, Limits(total=_WARM_UP_REQUESTS)).run()
        for load in loads:
            measured = Generator(client, sentences, load.arrivals(seed + run), load.limits).run()
            about = {"run": run, "load": load.label, "clients": load.concurrency or ""}
            rows.append(about | case.columns | as_columns(measured))
    counters = system.counters if len(loads) == 1 else {}  # of several loads nobody could say whose they are
    for row in rows:
        row |= {name: counters.get(name, np.nan) for name in COUNTERS}
        yield row


def as_columns(measured: Measurements) -> Row:
    summary = measured.summary(slo_ms=None)
    latencies_ms = 1e3 * np.array(measured.latencies_s or [np.nan])
    quantiles = np.percentile(latencies_ms, range(101)).round(3)
    return {
        **{name: np.nan if (value := summary[name]) is None else value for name in LOAD_COLUMNS if name in summary},
        "not_ok": measured.num_over - measured.statuses[200],
        **dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
    }


def rounds(cases: Sequence[Any], num_runs: int, what: str) -> Iterator[tuple[int, Any]]:
    """Every case once, then all of them again, so that a slow quarter of an hour hits all alike. With a bar."""
    with tqdm(total=num_runs * len(cases), desc=what, unit="server") as bar:
        for run in range(1, num_runs + 1):
            for case in cases:
                bar.set_postfix_str(f"run {run}: {case.label}")
                yield run, case
                bar.update()


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


def medians(rows: Iterable[Row], by: str, columns: Sequence[str]) -> dict[Any, dict[str, float]]:
    """Of the runs, for every value of `by`, in order of appearance. NaN where a run has no value: it had no answers."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[by], []).append(row)
    return {
        key: {name: float(np.median([row[name] for row in group])) for name in columns} for key, group in groups.items()
    }


def medians_table(rows: Iterable[Row], by: Sequence[str], columns: Sequence[str]) -> str:
    """The medians of all rows that agree in `by`."""
    points = medians([row | {"key": tuple(row[name] for name in by)} for row in rows], "key", columns)
    cells = [map(_cell, (*by, *columns), (*key, *point.values())) for key, point in points.items()]
    return table([_HEADINGS.get(name, f">{name}") for name in (*by, *columns)], [list(row) for row in cells])


def _cell(column: str, value: float | str) -> str | None:
    if isinstance(value, str):
        return value
    return None if np.isnan(value) else f"{value:,.{_DECIMALS.get(column, 1)}f}"
