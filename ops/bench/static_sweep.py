"""`static-sweep`: how large a batch, and how long to wait for it. The unbatched server is a point to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measure_case, medians, medians_table, rounds
from ops.load.arrivals import Limits

CSV = "batch_sweep.csv"
PLANNED = ("num_runs", "concurrency", "total")  # what of the plan it goes by
SETTINGS = ((1, 0), (2, 10), (4, 10), (8, 20), (16, 20), (32, 50))  # (max_batch, max_wait_ms)
_COLUMNS = ("throughput_per_s", "times_unbatched", "p50_ms", "p95_ms", "mean_prefill_batch")


def static_case(max_batch: int, max_wait_ms: float) -> Case:
    options = ("--mode", "static", "--max-batch", str(max_batch), "--max-wait-ms", f"{max_wait_ms:g}")
    columns: Row = {"mode": "static", "setting": f"{max_batch}, {max_wait_ms:g}"}
    columns |= {"max_batch": max_batch, "max_wait_ms": max_wait_ms}
    return Case(f"static {max_batch}, {max_wait_ms:g} ms", options, columns)


def baseline_case() -> Case:
    """The faster of the two modes that batch nothing."""
    columns = {"mode": "sync", "setting": "unbatched", "max_batch": 1, "max_wait_ms": 0}
    return Case("unbatched", ("--mode", "sync"), columns)


def measure(plan: Plan) -> Iterator[Row]:
    cases = [baseline_case(), *(static_case(*setting) for setting in SETTINGS)]
    load = Load(f"{plan.concurrency} clients, {plan.total}", Limits(total=plan.total), plan.concurrency)
    for run, case in rounds(cases, plan.num_runs, "static-sweep"):
        yield from measure_case(case, [load], run, plan.seed)


def best_setting(rows: list[Row]) -> tuple[int, float]:
    """(max_batch, max_wait_ms) of the highest throughput."""
    static = [row for row in rows if row["mode"] == "static"]
    points = medians(static, "setting", ("throughput_per_s", "max_batch", "max_wait_ms"))
    best = max(points.values(), key=lambda point: point["throughput_per_s"])
    return int(best["max_batch"]), best["max_wait_ms"]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """The four figures."""
    from ops.bench import static_figures

    return static_figures.draw(rows, folder)


def summary(rows: list[Row]) -> list[str]:
    base_per_s = medians(rows, "setting", ["throughput_per_s"])["unbatched"]["throughput_per_s"]
    compared = [row | {"times_unbatched": row["throughput_per_s"] / base_per_s} for row in rows]
    return [medians_table(compared, ("setting",), _COLUMNS)]
