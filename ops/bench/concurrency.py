"""`concurrency`: the median latency against the number of clients, with and without batching.

Without batching every client waits for all the others: p50 grows in step with their number. With continuous batching a
fuller batch costs an iteration little more, so p50 stays nearly flat until the cores are full.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measured, medians, medians_table
from ops.load.arrivals import Limits

CSV = "concurrency.csv"
MODES = {"threaded": "threaded: each request by itself", "continuous": "continuous batching"}
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
_SECONDS = 4.0


def measure(plan: Plan) -> Iterator[Row]:
    """Each number of clients for some seconds."""
    cases = [Case(mode, {"mode": mode}, ("--mode", mode)) for mode in MODES]
    loads = [Load("series", Limits(duration_s=_SECONDS * plan.scale), clients) for clients in CLIENTS]
    return measured(cases, loads, plan, "concurrency")


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(rows, ("mode", "clients"), ("throughput_per_s", "p50_ms", "p95_ms", "not_ok"))]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, MARKERS, figure

    path = folder / "p50_vs_concurrency.png"
    with figure(path, "Median latency against the number of clients") as axes:
        for mode, label in MODES.items():
            of_mode = [row for row in rows if row["mode"] == mode]
            points = medians(of_mode, ["clients"], ("p50_ms", "throughput_per_s"))
            clients, latencies = points["clients"], points["p50_ms"]
            axes.plot(clients, latencies, MARKERS[mode] + "-", color=COLOURS[mode], label=label)
            axes.annotate(f"{points['throughput_per_s'][-1]:,.0f} corrections/s", (clients[-1], latencies[-1]),
                          (-6, 6), textcoords="offset points", ha="right", fontsize=8)  # fmt: skip
        axes.set(xlabel="clients at once", ylabel="p50 latency, ms")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
    return [path]
