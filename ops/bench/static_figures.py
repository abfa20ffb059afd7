"""The four figures of `static-sweep`."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from ops.bench.experiment import Row, medians
from ops.bench.figures import COLOURS, draw_cdf, figure, finish_cdf

_BATCH_FOR_CDF = 8


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Raises KeyError where the rows lack a column."""
    base = [row for row in rows if row["mode"] == "sync"]
    static = [row for row in rows if row["mode"] == "static"]
    names = ("throughput_vs_batch", "p95_vs_batch", "latency_cdf_baseline_vs_batch8", "batch_fullness")
    paths = [folder / f"{name}.png" for name in names]
    with figure(paths[0], "Static batching: throughput against the size of the batch") as axes:
        _draw_points(axes, base, static, "throughput_per_s", "corrections per second")
    with figure(paths[1], "Static batching: 95th percentile of latency against the size of the batch") as axes:
        _draw_points(axes, base, static, "p95_ms", "p95 latency, ms")
    with figure(paths[2], f"Latency: unbatched, and batches of {_BATCH_FOR_CDF}") as axes:
        eight = [row for row in static if row["max_batch"] == _BATCH_FOR_CDF]
        draw_cdf(axes, base, "unbatched (sync)", COLOURS["sync"])
        draw_cdf(axes, eight, f"static, max_batch {_BATCH_FOR_CDF}", COLOURS["static"])
        finish_cdf(axes)
    with figure(paths[3], "How full the batches are when they start") as axes:
        _draw_fullness(axes, static)
    return paths


def _draw_points(axes: Axes, base: list[Row], static: list[Row], column: str, label: str) -> None:
    points = medians(static, ("setting", "max_batch"), [column])
    sizes = points["max_batch"]
    axes.plot(sizes, points[column], "s-", color=COLOURS["static"], label="static, median")
    axes.plot([row["max_batch"] for row in static], [row[column] for row in static], ".", color=COLOURS["static"],
              alpha=0.45, label="single runs")  # fmt: skip
    axes.plot([1], medians(base, (), [column])[column], "^", markersize=10, color=COLOURS["sync"],
              label="unbatched (sync)")  # fmt: skip
    for setting, size, value in zip(points["setting"], sizes, points[column], strict=True):
        axes.annotate(f"{setting} ms", (size, value), (0, 12), textcoords="offset points", ha="center", fontsize=8)
    axes.set(xlabel="max_batch (each with its max_wait_ms)", ylabel=label, xscale="log")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.set_ylim(0, 1.12 * max(row[column] for row in [*base, *static]))
    axes.margins(x=0.16)
    axes.legend()


def _draw_fullness(axes: Axes, static: list[Row]) -> None:
    points = medians(static, ("setting", "max_batch"), ["mean_prefill_batch"])
    sizes, filled = points["max_batch"], points["mean_prefill_batch"]
    axes.bar(points["setting"], sizes, color=COLOURS["idle"], label="empty places")
    bars = axes.bar(points["setting"], filled, color=COLOURS["static"], label="sequences")
    axes.bar_label(bars, [f"{100 * mean / size:.0f} %" for mean, size in zip(filled, sizes, strict=True)], padding=2)
    axes.set(xlabel="max_batch, max_wait_ms", ylabel="sequences of a batch, mean")
    axes.legend(loc="upper left")
