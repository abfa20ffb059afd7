"""Slots against iterations: a coloured cell for each token, grey where a place is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from ops.bench.experiment import Row
from ops.bench.figures import COLOURS

_TONES = 5  # neighbours of one colour could not be distinguished


def draw_occupancy(
    path: Path, rows: Sequence[Row], shares: Mapping[str, Mapping[str, float]], labels: Mapping[str, str], most: int
) -> None:
    """One row of the figure for each policy; `most`: iterations drawn."""
    figure, all_axes = plt.subplots(len(labels), 1, figsize=(11, 2.5 * len(labels)), sharex=True, layout="constrained")
    for axes, (policy, label) in zip(all_axes, labels.items(), strict=True):
        cells = [row for row in rows if row["policy"] == policy and row["iteration"] < most]
        _draw_cells(axes, cells, most)
        share = shares[policy]
        axes.set_title(
            f"{label} - {share['idle']:.0%} of all slot-steps idle, {share['waste']:.0%} wasted", fontsize=10
        )
    all_axes[-1].set_xlabel("iteration")
    patches = [
        Patch(color=COLOURS["continuous"], label="a token of a request (tones tell requests apart)"),
        Patch(color=COLOURS["sync"], label="decoded past its end"),
        Patch(color=COLOURS["idle"], label="empty place"),
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_cells(axes: Axes, cells: Sequence[Row], most: int) -> None:
    num_slots = int(max(row["slot"] for row in cells)) + 1
    image = np.ones((num_slots, most, 3))
    for row in cells:
        colour = COLOURS[{"idle": "idle", "waste": "sync", "token": "continuous"}[row["state"]]]
        tone = 0.55 + 0.45 * (int(row["number"]) % _TONES) / (_TONES - 1) if row["state"] == "token" else 1.0
        image[int(row["slot"]), int(row["iteration"])] = 1 - tone * (1 - np.array(to_rgb(colour)))
    axes.imshow(image, aspect="auto", origin="lower", interpolation="nearest", extent=(0, most, 0, num_slots))
    axes.set_ylabel("slot")
