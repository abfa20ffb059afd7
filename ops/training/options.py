"""The options of a training run; free of PyTorch, so that `--help` works without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Options of `miniserve train`; the defaults make the model that ships."""

    corpora: tuple[Path, ...]
    out: Path = Path("runs/train")
    num_examples: int = 5_800_000
    until: int | None = None  # examples; ends before the rates have come down, for others to go on from
    max_minutes: float | None = None
    seed: int = 1
    device: str = "auto"  # cpu, cuda or auto
    num_processes: int = 1  # that compute gradients, one thread each
    num_streams: int = 1  # of examples, each made by a process; several where a GPU learns faster than one makes them
    compiles: bool = False  # by PyTorch's compiler, which takes a minute and needs g++; a quarter faster
    resume: bool = False
    start_from: Path | None = None  # weights file to begin with instead of random weights
    top_rate: float = 1.0  # share of the usual learning rates to come down from; less keeps more of good weights
    tokens_per_batch: int = 4000
    written_share: float = 0.36  # of the examples that are neither mined nor prose: written lines
    right_prose: float = 0.7  # of prose: what is written for readers is more often right than what learners write
    is_part: bool = False  # its weights are joined with others and calibrated later, so nothing is scored
    mined: tuple[Path, ...] = ()  # of `miniserve training mine`: the right are met more often, the flawed not at all
