"""`static-sweep`: how large a batch, and how long to wait for it. The unbatched server is a point to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from statistics import median

from ops.bench.experiment import Case, Plan, Row, measured, medians, medians_table, read_rows

CSV = "batch_sweep.csv"
SETTINGS = ((1, 0), (2, 10), (4, 10), (8, 20), (16, 20), (32, 50))  # (max_batch, max_wait_ms)
# The faster of the two modes that batch nothing.
_BASELINE = {"mode": "sync", "setting": "unbatched", "max_batch": 1, "max_wait_ms": 0}
_COLUMNS = ("throughput_per_s", "times_unbatched", "p50_ms", "p95_ms", "mean_prefill_batch")


def static_case(max_batch: int, max_wait_ms: float) -> Case:
    columns: Row = {"mode": "static", "setting": f"{max_batch}, {max_wait_ms:g}"}
    columns |= {"max_batch": max_batch, "max_wait_ms": max_wait_ms}
    options = ("--mode", "static", "--max-batch", str(max_batch), "--max-wait-ms", f"{max_wait_ms:g}")
    return Case(f"static {max_batch}, {max_wait_ms:g} ms", columns, options)


def measure(plan: Plan) -> Iterator[Row]:
    cases = [Case("unbatched", _BASELINE, ("--mode", "sync")), *(static_case(*setting) for setting in SETTINGS)]
    return measured(cases, [plan.clients()], plan, "static-sweep")


def newest_best_setting(out: Path) -> tuple[int, float] | None:
    """(max_batch, max_wait_ms) of the highest throughput in the newest folder of results, but broken off ones."""
    sweeps = map(read_rows, sorted(out.glob(f"*-static-sweep/{CSV}"), reverse=True))
    statics = ([row for row in rows if row["mode"] == "static"] for rows in sweeps)
    return next(map(_best_setting, filter(None, statics)), None)


def _best_setting(static: list[Row]) -> tuple[int, float]:
    found = medians(static, ("max_batch", "max_wait_ms"), ["throughput_per_s"])
    max_batch, max_wait_ms, _ = max(zip(*found.values(), strict=True), key=itemgetter(2))
    return int(max_batch), max_wait_ms


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """The four figures."""
    from ops.bench import static_figures

    return static_figures.draw(rows, folder)


def summary(rows: list[Row]) -> list[str]:
    base = [row["throughput_per_s"] for row in rows if row["mode"] == "sync"]
    compared = [row | {"times_unbatched": row["throughput_per_s"] / median(base)} for row in rows]
    return [medians_table(compared, ("setting",), _COLUMNS)]
