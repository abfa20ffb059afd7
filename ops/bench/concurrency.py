"""`concurrency`: the median latency against the number of clients, with and without batching.

Without batching every client waits for all the others: p50 grows in step with their number. With continuous batching a
fuller batch costs an iteration little more, so p50 stays nearly flat until the cores are full.
"""

from __future__ import annotations

from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measure_case, medians, medians_table, rounds
from ops.load.arrivals import Limits

CSV = "concurrency.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
MODES = ("threaded", "continuous")
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
_SECONDS = 4.0


def measure(plan: Plan) -> list[Row]:
    """Each number of clients for some seconds."""
    cases = [Case(mode, ("--mode", mode), {"mode": mode}) for mode in MODES]
    loads = [Load("series", Limits(duration_s=_SECONDS * plan.scale), clients) for clients in CLIENTS]
    rows: list[Row] = []
    for run, case in rounds(cases, plan.num_runs, "concurrency"):
        rows += measure_case(case, loads, run, plan.seed)
    return rows


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(_series(rows), ("mode", "clients"), ("throughput_per_s", "p50_ms", "p95_ms", "not_ok"))]


def _series(rows: list[Row]) -> list[Row]:
    """Files of before 2.0 have another load, too."""
    return [row for row in rows if row["load"] == "series"]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, MARKERS, figure

    path = folder / "p50_vs_concurrency.png"
    with figure(path, "Median latency against the number of clients") as axes:
        for mode, label in (("threaded", "threaded: each request by itself"), ("continuous", "continuous batching")):
            of_mode = [row for row in _series(rows) if row["mode"] == mode]
            points = medians(of_mode, "clients", ("p50_ms", "throughput_per_s"))
            latencies = [point["p50_ms"] for point in points.values()]
            axes.plot(list(points), latencies, MARKERS[mode] + "-", color=COLOURS[mode], label=label)
            last = list(points)[-1]
            axes.annotate(f"{points[last]['throughput_per_s']:,.0f} corrections/s", (last, points[last]["p50_ms"]),
                          (-6, 6), textcoords="offset points", ha="right", fontsize=8)  # fmt: skip
        axes.set(xlabel="clients at once", ylabel="p50 latency, ms")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
    return [path]
