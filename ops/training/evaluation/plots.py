"""Redraws the figures of the model card from the data beside them: `miniserve training plots [FOLDER]`.

| figure | drawn from |
|---|---|
| learning-curve.png | metrics.csv, written by `miniserve train` |
| reasons.png | evaluation.json, the output of `miniserve eval --json` |
| trade-off.png | eos_bias.csv, written by `miniserve train`; eos_bias-NAME.csv, by sweep.py |

Figures whose data is not there are left out. Colours are those of Okabe and Ito, which the colour-blind can tell apart;
lines differ in their markers, too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import click
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

DATA = Path(__file__).parents[3] / "docs" / "training"
_BLUE, _VERMILION, _GREEN, _ORANGE, _PURPLE, _GREY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#666666"
_SERIES = ((_BLUE, "o"), (_VERMILION, "s"), (_GREEN, "^"), (_ORANGE, "D"), (_PURPLE, "v"))
_MOST_FALSE_POSITIVES = 0.01
_DPI = 120
_SET_NAMES = {
    "eos_bias": "generator's sentences, held out",
    "eos_bias-development": "development set (tests/heldout)",
    "eos_bias-written": "generated lines kept from the training",
    "eos_bias-natural": "natural text, held out; mistakes by rules",
}
_PERCENT = FuncFormatter(lambda share, _: f"{100 * share:.4g}")  # the unit stands in the label of the axis


def draw_all(folder: Path) -> list[Path]:
    """Every figure whose data is in the folder; returns their paths."""
    found: list[tuple[str, Callable[[Path, Path], None]]] = []
    found += [("learning-curve.png", draw_learning_curve)] if (folder / "metrics.csv").exists() else []
    found += [("reasons.png", draw_reasons)] if (folder / "evaluation.json").exists() else []
    found += [("trade-off.png", draw_trade_off)] if any(folder.glob("eos_bias*.csv")) else []
    for name, draw in found:
        draw(folder, folder / name)
    return [folder / name for name, _ in found]


def draw_learning_curve(folder: Path, figure_path: Path) -> None:
    """Loss, and what it means for held-out sentences."""
    rows = read_metrics(folder / "metrics.csv")
    figure, (loss_axes, exact_axes, false_axes) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    _draw_loss(loss_axes, rows)
    scored = [row for row in rows if row["exact"]]
    examples = _millions(scored)
    for axes, column, color, title in (
        (exact_axes, "exact", _BLUE, "Wrong sentences mended exactly"),
        (false_axes, "false_positives", _VERMILION, "Right sentences changed"),
    ):
        axes.plot(examples, [float(row[column]) for row in scored], "o-", color=color, markersize=3)
        axes.set(xlabel="examples seen (millions)", ylabel="share of held-out sentences (%)", title=title)
        axes.yaxis.set_major_formatter(_PERCENT)
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
    exact_axes.set_ylim(top=1)
    false_axes.set_ylim(bottom=0)
    _save(figure, figure_path)


def _draw_loss(axes: Axes, rows: list[dict[str, str]]) -> None:
    for column, color, style, label in (
        ("output_loss", _BLUE, "o-", "output tokens"),
        ("detection_loss", _VERMILION, "s--", "detection head"),
    ):
        axes.plot(_millions(rows), [float(row[column]) for row in rows], style, color=color, markersize=3, label=label)
    axes.set(xlabel="examples seen (millions)", ylabel="training loss (nats per token)", yscale="log", title="Loss")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def draw_reasons(folder: Path, figure_path: Path) -> None:
    """For each reason the mistakes mended (bar, with counts) and how many of its edits were right (mark)."""
    document = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    rows = [(slug, one) for slug, one in document["reasons"].items() if one["num_wanted"]]
    rows.sort(key=lambda row: (row[1]["recall"], row[1]["num_wanted"]))
    places = range(len(rows))
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.26 * len(rows)), layout="constrained")
    axes.barh(places, [one["recall"] for _, one in rows], color=_BLUE, alpha=0.8, label="mistakes mended (recall)")
    made = [(place, one["precision"]) for place, (_, one) in enumerate(rows) if one["num_made"]]
    axes.plot([share for _, share in made], [place for place, _ in made], "D", color=_ORANGE, markeredgecolor="black",
              markersize=5, label="edits right (precision)")  # fmt: skip
    for place, (_, one) in enumerate(rows):
        axes.text(1.02, place, f"{one['num_mended']} of {one['num_wanted']}", va="center", fontsize=8, color=_GREY)
    axes.set_yticks(places, [slug.replace("_", " ") for slug, _ in rows], fontsize=9)
    axes.set(xlim=(0, 1.14), ylim=(-0.7, len(rows) - 0.3), xlabel="share (%)")
    axes.set_title(f"By reason, at strictness {document['strictness']:g}", loc="left")
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.xaxis.set_major_formatter(_PERCENT)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9)
    _save(figure, figure_path)


def draw_trade_off(folder: Path, figure_path: Path) -> None:
    """What more certainty costs: exact match against false positives, a line for each set of sentences."""
    figure, axes = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    served = _served_bias(folder)
    for (color, marker), path in zip(_SERIES, _sets(folder), strict=False):
        points = [{name: float(text) for name, text in row.items()} for row in _read(path)]
        _draw_points(axes, points, (color, marker), _SET_NAMES.get(path.stem, path.stem))
        _mark_biases(axes, points, served, color)
    axes.axvline(_MOST_FALSE_POSITIVES, color=_GREY, linestyle=":", label="1 % of right sentences changed")
    axes.set(xlabel="right sentences changed (%)", ylabel="wrong sentences mended exactly (%)")
    axes.set_title("Trade-off over the strictness (numbers)" + (", ring: as served" if served is not None else ""))
    axes.xaxis.set_major_formatter(_PERCENT)
    axes.yaxis.set_major_formatter(_PERCENT)
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    _save(figure, figure_path)


def _draw_points(axes: Axes, points: list[dict[str, float]], looks: tuple[str, str], label: str) -> None:
    color, marker = looks
    shares = [(point["false_positives"], point["exact"]) for point in points]
    axes.plot(*zip(*shares, strict=True), marker=marker, color=color, markersize=3.5, linewidth=1.2, label=label)


def _mark_biases(axes: Axes, points: list[dict[str, float]], served: float | None, color: str) -> None:
    """Whole biases get their number, but not where it would lie on the one before; the served one gets a ring."""
    last: tuple[float, float] | None = None
    widest = max(point["false_positives"] for point in points) or 1.0
    for point in points:
        at, bias = (point["false_positives"], point["exact"]), point["eos_bias"]
        if bias == served:
            axes.plot(*at, "o", markersize=12, markerfacecolor="none", markeredgecolor=color, markeredgewidth=1.8)
        if bias == int(bias) and (last is None or abs(last[0] - at[0]) > 0.03 * widest or abs(last[1] - at[1]) > 0.02):
            axes.annotate(f"{bias:.0f}", at, (5, -10), textcoords="offset points", fontsize=8, color=color)
            last = at


def _sets(folder: Path) -> list[Path]:
    """The held-out set of training first."""
    return sorted(folder.glob("eos_bias*.csv"), key=lambda path: (path.stem != "eos_bias", path.stem))


def _served_bias(folder: Path) -> float | None:
    path = folder / "evaluation.json"
    return json.loads(path.read_text(encoding="utf-8"))["strictness"] if path.exists() else None


def read_metrics(path: Path) -> list[dict[str, str]]:
    """Rows in order; where a run went on from a checkpoint, what it repeated is dropped."""
    kept: list[dict[str, str]] = []
    for row in _read(path):
        while kept and int(kept[-1]["steps"]) >= int(row["steps"]):
            kept.pop()
        kept.append(row)
    return kept


def _millions(rows: list[dict[str, str]]) -> list[float]:
    return [int(row["examples"]) / 1e6 for row in rows]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=DATA)
def main(folder: Path) -> None:
    """Draw what FOLDER has the data for, and say where."""
    paths = draw_all(folder)
    if not paths:
        raise click.ClickException(f"{folder} holds none of metrics.csv, evaluation.json and eos_bias*.csv")
    for path in paths:
        click.echo(path)
