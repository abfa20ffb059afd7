"""Redraws the figures of the model card from their data: `python -m ops.training.plots`."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

DATA = Path(__file__).parents[2] / "docs" / "training"
_BLUE, _ORANGE, _GREY = "#1f5fa8", "#c8641e", "#666666"


def draw(folder: Path = DATA) -> Path:
    """Learning curve and trade-off from `metrics.csv` and `eos_bias.csv`; returns the path of the figure."""
    figure, (loss_axes, score_axes, bias_axes) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    metrics = _read(folder / "metrics.csv")
    _draw_loss(loss_axes, metrics)
    _draw_scores(score_axes, [row for row in metrics if row["exact"]])
    _draw_trade_off(bias_axes, _read(folder / "eos_bias.csv"))
    path = folder / "learning-curve.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _draw_loss(axes: Axes, rows: list[dict[str, str]]) -> None:
    examples = [int(row["examples"]) / 1e6 for row in rows]
    axes.plot(examples, [float(row["output_loss"]) for row in rows], color=_BLUE, label="output tokens")
    axes.plot(examples, [float(row["detection_loss"]) for row in rows], color=_ORANGE, label="detection head")
    axes.set(xlabel="examples seen (millions)", ylabel="training loss (nats per token)", yscale="log", title="Loss")
    _finish(axes)


def _draw_scores(axes: Axes, rows: list[dict[str, str]]) -> None:
    examples = [int(row["examples"]) / 1e6 for row in rows]
    axes.plot(examples, [100 * float(row["exact"]) for row in rows], "o-", color=_BLUE, ms=3, label="exact match")
    axes.set(xlabel="examples seen (millions)", ylabel="share of held-out sentences (%)", title="Held out, no bias")
    false_positives = [100 * float(row["false_positives"]) for row in rows]
    axes.plot(examples, false_positives, "o-", color=_ORANGE, ms=3, label="clean ones changed")
    axes.set_ylim(0, 100)
    _finish(axes)


def _draw_trade_off(axes: Axes, rows: list[dict[str, str]]) -> None:
    axes.plot([100 * float(row["false_positives"]) for row in rows], [100 * float(row["exact"]) for row in rows],
              "o-", color=_BLUE, ms=3)  # fmt: skip
    for row in rows:
        bias = float(row["eos_bias"])
        if bias == int(bias):
            at = (100 * float(row["false_positives"]), 100 * float(row["exact"]))
            axes.annotate(f"{bias:.0f}", at, (5, -9), textcoords="offset points", fontsize=8, color=_GREY)
    axes.set(xlabel="clean sentences changed (%)", ylabel="exact match (%)", title="Bias of <eos> (labels)")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)


def _finish(axes: Axes) -> None:
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def _read(path: Path) -> list[dict[str, str]]:
    """Rows in order; where a run went on from a checkpoint, what it repeated is dropped."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept: list[dict[str, str]] = []
    for row in rows:
        while kept and "steps" in row and int(kept[-1]["steps"]) >= int(row["steps"]):
            kept.pop()
        kept.append(row)
    return kept


def main() -> None:
    """Draw and say where."""
    print(draw())


if __name__ == "__main__":
    main()
