"""`concurrency`: the median latency against the number of clients, with and without batching.

Without batching every client waits for all the others: p50 grows in step with their number. With continuous batching a
fuller batch costs an iteration little more, so p50 stays nearly flat until the cores are full.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measure_case, medians, rounds
from ops.load.arrivals import Limits
from ops.tables import table

CSV = "concurrency.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
MODES = ("threaded", "continuous")
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
STEADY_CLIENTS = 8
_SECONDS = 4.0
_STEADY_S = 60.0
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "not_ok")


def measure(plan: Plan) -> list[Row]:
    """Each number of clients for some seconds, and eight of them for a minute."""
    cases = [Case(mode, ("--mode", mode), {"mode": mode}) for mode in MODES]
    rows: list[Row] = []
    for run, case in rounds(cases, plan.num_runs, "concurrency"):
        loads = [Load("series", Limits(duration_s=_SECONDS * plan.scale), clients) for clients in CLIENTS]
        rows += _with_clients(measure_case(case, loads, run, plan.seed), CLIENTS)
    steady = Load(f"steady, {_STEADY_S * plan.scale:g} s", Limits(duration_s=_STEADY_S * plan.scale), STEADY_CLIENTS)
    for run, case in rounds(cases, plan.num_runs, f"{STEADY_CLIENTS} clients, steady"):
        rows += _with_clients(measure_case(case, [steady], run, plan.seed), [STEADY_CLIENTS])
    return rows


def _with_clients(rows: Iterable[Row], clients: Iterable[int]) -> list[Row]:
    return [{"clients": number, **row} for number, row in zip(clients, rows, strict=True)]


def summary(rows: list[Row]) -> list[str]:
    cells = [
        (mode, load, round(clients), round(point["throughput_per_s"]), f"{point['p50_ms']:.1f}",
         f"{point['p95_ms']:.1f}", round(point["not_ok"]))
        for load in dict.fromkeys(row["load"] for row in rows)
        for mode in MODES
        for clients, point in _points(rows, mode, load).items()
    ]  # fmt: skip
    return [table(("mode", "load", ">clients", ">corrections/s", ">p50 ms", ">p95 ms", ">not answered"), cells)]


def _points(rows: list[Row], mode: str, load: str = "series") -> dict[float, dict[str, float]]:
    return medians([row for row in rows if row["mode"] == mode and row["load"] == load], "clients", _COLUMNS)


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, MARKERS, figure

    path = folder / "p50_vs_concurrency.png"
    with figure(path, "Median latency against the number of clients") as axes:
        for mode, label in (("threaded", "threaded: each request by itself"), ("continuous", "continuous batching")):
            points = _points(rows, mode)
            latencies = [point["p50_ms"] for point in points.values()]
            axes.plot(list(points), latencies, MARKERS[mode] + "-", color=COLOURS[mode], label=label)
            last = list(points)[-1]
            axes.annotate(f"{points[last]['throughput_per_s']:,.0f} corrections/s", (last, points[last]["p50_ms"]),
                          (-6, 6), textcoords="offset points", ha="right", fontsize=8)  # fmt: skip
        axes.set(xlabel="clients at once", ylabel="p50 latency, ms")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
    return [path]
