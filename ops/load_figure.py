"""Draws throughput and latency against concurrency: `python -m ops.load_figure docs/benchmarks/load.csv load.png`.

The rows come from `python -m ops.load --save`; of several runs at one concurrency the medians are drawn.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

import click

LATENCIES = {"p50_ms": "median", "p95_ms": "95th percentile", "p99_ms": "99th percentile"}


def medians(path: Path) -> dict[int, dict[str, float]]:
    """Concurrency -> column -> median over the runs."""
    values: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for column in ("requests_per_s", *LATENCIES):
                values[int(row["concurrency"])][column].append(float(row[column]))
    return {clients: {name: median(many) for name, many in columns.items()} for clients, columns in values.items()}


@click.command()
@click.argument("rows", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("figure", type=click.Path(dir_okay=False, path_type=Path))
def main(rows: Path, figure: Path) -> None:
    """Draw the CSV file ROWS into FIGURE."""
    from matplotlib import pyplot

    points = medians(rows)
    clients = sorted(points)
    drawing, (throughput, latency) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    throughput.plot(clients, [points[c]["requests_per_s"] for c in clients], "o-", color="tab:blue")
    for c in clients:
        throughput.annotate(f"{points[c]['requests_per_s']:,.0f}", (c, points[c]["requests_per_s"]), (0, 7),
                            textcoords="offset points", ha="center")  # fmt: skip
    throughput.set(title="Throughput", xlabel="clients at once", ylabel="corrections per second")
    throughput.set_ylim(0, 1.15 * max(points[c]["requests_per_s"] for c in clients))
    for column, label in LATENCIES.items():
        latency.plot(clients, [points[c][column] for c in clients], "o-", label=label)
    latency.set(title="Latency", xlabel="clients at once", ylabel="ms from request to answer")
    latency.set_ylim(bottom=0)
    latency.legend()
    for axes in (throughput, latency):
        axes.set_xscale("log", base=2)
        axes.set_xticks(clients, [str(c) for c in clients])
        axes.grid(alpha=0.3)
    drawing.savefig(figure, dpi=120)


if __name__ == "__main__":
    main()
