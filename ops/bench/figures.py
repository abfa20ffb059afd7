"""What the figures share. Colours are those of Okabe and Ito, which the colour-blind can tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from ops.bench.experiment import QUANTILES  # noqa: E402

COLOURS = {
    "continuous": "#009E73", "static": "#0072B2", "threaded": "#E69F00", "sync": "#D55E00", "other": "#CC79A7",
    "textbook": "#56B4E9",
    "idle": "#DDDDDD", "text": "#333333",
}  # fmt: skip
MARKERS = {"continuous": "o", "static": "s", "threaded": "^", "sync": "D"}


@contextmanager
def figure(path: Path, title: str, *, width: float = 7.5, height: float = 4.4) -> Iterator[Axes]:
    """One pair of axes, saved at the end."""
    drawing, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    yield axes
    drawing.savefig(path, dpi=120)
    plt.close(drawing)


def draw_cdf(axes: Axes, rows: Sequence[Mapping[str, float]], label: str, colour: str) -> None:
    """The share of answers that came within a time; quantiles are the medians of the runs'."""
    quantiles = np.median([[row[name] for name in QUANTILES] for row in rows], axis=0)
    axes.plot(quantiles, np.arange(101), color=colour, label=label)


def finish_cdf(axes: Axes) -> None:
    axes.set(xlabel="latency, ms (log scale)", ylabel="share of answers within it, %", xscale="log")
    axes.set_ylim(0, 100)
    for percent in (50, 95):
        axes.axhline(percent, color=COLOURS["text"], linewidth=0.6, linestyle=":")
    axes.legend()
