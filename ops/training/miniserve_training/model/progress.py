"""How far a run has come, and its learning curve as a CSV file."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miniserve_training.options import TrainOptions

WARM_UP_STEPS = 150
FINAL_RATE = 0.03


@dataclass(slots=True)
class Progress:
    """What a run has behind it; saved with every checkpoint."""

    steps: int = 0
    examples: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0

    def share(self, options: TrainOptions) -> float:
        """How far the run has come, 0 to 1."""
        return min(1.0, self.examples / options.examples)

    def is_over(self, options: TrainOptions) -> bool:
        """Whether the run has come to its end."""
        return self.share(options) >= 1.0

    def rate_scale(self, options: TrainOptions) -> float:
        """Factor of both learning rates."""
        warmed_up = min(1.0, (self.steps + 1) / WARM_UP_STEPS)
        return options.top_rate * warmed_up * (1 - (1 - FINAL_RATE) * self.share(options))


class MetricsLog:
    """Rows of the learning curve, appended to the file as they come."""

    COLUMNS = ("minutes", "steps", "examples", "tokens", "output_loss", "detection_loss")

    def __init__(self, path: Path, *, is_new: bool) -> None:
        self._path = path
        self._sums: list[Any] = [0.0, 0.0]
        self._num_steps = 0
        if is_new or not path.exists():
            self._append(self.COLUMNS, mode="w")

    def add(self, output_loss: Any, detection_loss: Any) -> None:
        """Numbers, or tensors of one."""
        self._sums = [self._sums[0] + output_loss, self._sums[1] + detection_loss]
        self._num_steps += 1

    def write(self, progress: Progress) -> float:
        """Append the means since the last row; return that of the output loss."""
        output_loss, detection_loss = (float(total) / max(1, self._num_steps) for total in self._sums)
        self._sums, self._num_steps = [0.0, 0.0], 0
        self._append((f"{progress.elapsed_s / 60:.2f}", progress.steps, progress.examples, progress.tokens,
                      f"{output_loss:.4f}", f"{detection_loss:.4f}"), mode="a")  # fmt: skip
        return output_loss

    def _append(self, row: tuple[object, ...], mode: str) -> None:
        with self._path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)
