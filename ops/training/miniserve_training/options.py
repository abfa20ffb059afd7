"""The options of a training run, free of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What is learnt is the recipe's to say, and where it runs the command's."""

    corpora: tuple[Path, ...]
    out: Path
    examples: int
    seed: int = 1
    tokens_per_batch: int = 4000  # 131,072 for a GPU
    top_rate: float = 1.0  # share of the usual learning rates to come down from; less keeps more of good weights
    written_share: float = 0.36  # of the examples that are not prose: written lines
    right_prose: float = 0.7  # of prose: what is written for readers is more often right than what learners write
    lines: tuple[Path, ...] = ()  # files of written lines, next to those of this package
    start_from: Path | None = None  # weights file to begin with instead of random weights
    start_share: float = 0.0  # of these weights in the mean that is exported: what they know is not forgotten
    device: str = "auto"  # cpu, cuda or auto
    num_streams: int = 1  # of examples, each made by a process; several where a GPU learns faster than one makes them
