"""One run's state and its step: the model, its optimizers, the average of its weights, and where it came from.

Muon for the layers' matrices, AdamW for embeddings and norms.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from miniserve_training.model.batches import Batch, to_tensors
from miniserve_training.model.muon import Muon
from miniserve_training.model.progress import Progress
from miniserve_training.model.twin import Twin
from miniserve_training.options import TrainOptions
from ops.provenance import git_commit

MUON_RATE, ADAM_RATE = 0.01, 2e-3  # output loss .157 after 400,000 examples; .215 at 0.02 and 3e-3
GRADIENT_NORM = 1.0
_AVERAGE_EVERY, _DECAY = 4, 0.992  # steps: half of the average comes from the last 350
_TIMING_ROUNDS = 5


class Trainer:
    """A run: the model, its optimizers and how far it has come."""

    def __init__(self, options: TrainOptions, twin: Twin, origin: dict[str, object] | None = None) -> None:
        """`origin`: of the weights that the twin holds, unless they are random."""
        self.options = options
        self.device = pick_device(options.device)
        self.precision = _pick_precision(self.device)
        self.commits: list[str] = []  # of the code, in the order in which the run met them
        self.origin = origin
        self.twin = twin.to(self.device)
        self.progress = Progress()
        matrices = [p for name, p in self.twin.named_parameters() if name.startswith("layers.") and p.ndim == 2]
        in_layers = {id(matrix) for matrix in matrices}
        others = [p for p in self.twin.parameters() if id(p) not in in_layers]
        groups = [{"params": [p for p in others if p.ndim == 2], "weight_decay": 0.05},
                  {"params": [p for p in others if p.ndim == 1], "weight_decay": 0.0}]  # fmt: skip
        self._optimizers = {Muon(matrices, MUON_RATE): MUON_RATE,
                            torch.optim.AdamW(groups, lr=ADAM_RATE, betas=(0.9, 0.98)): ADAM_RATE}  # fmt: skip
        self.average = AveragedModel(self.twin, multi_avg_fn=_follow)

    def note_commit(self) -> None:
        """Remember which code goes on with the run."""
        commit = git_commit()
        if not self.commits or self.commits[-1] != commit:
            self.commits.append(commit)

    def step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Learn from a batch; its mean output and detection loss before. Nobody waits for a GPU to know them."""
        tensors, is_mixed = to_tensors(batch, self.device), self.precision == torch.bfloat16
        with torch.autocast(self.device, torch.bfloat16, enabled=is_mixed):
            losses = self.twin.losses(tensors)
        losses.total.backward()
        torch.nn.utils.clip_grad_norm_(self.twin.parameters(), GRADIENT_NORM)
        scale = self.progress.rate_scale(self.options)
        for optimizer, rate in self._optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
            with torch.autocast(self.device, torch.bfloat16, enabled=is_mixed):
                optimizer.step()
            optimizer.zero_grad()
        self.progress.steps += 1
        self.progress.examples += len(batch)
        self.progress.tokens += len(batch.label_places) + len(batch.target_places) - len(batch)
        if self.progress.steps % _AVERAGE_EVERY == 0:
            self.average.update_parameters(self.twin)
        return losses.output.detach(), losses.detection.detach()

    def save(self, path: Path) -> None:
        """Write a checkpoint; a reader never sees half of one."""
        partial_path = path.with_suffix(".partial")
        state = {"twin": self.twin.state_dict(), "average": self.average.state_dict(),
                 "optimizers": [each.state_dict() for each in self._optimizers],
                 "progress": asdict(self.progress), "precision": str(self.precision),
                 "commits": self.commits, "origin": json.dumps(self.origin)}  # fmt: skip
        torch.save(state, partial_path)
        os.replace(partial_path, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.twin.load_state_dict(state["twin"])
        self.average.load_state_dict(state["average"])
        self.commits, self.origin = state["commits"], json.loads(state["origin"])
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.progress = Progress(**state["progress"])
        # A run goes on as it began, even where the other precision would be faster now.
        self.precision = torch.bfloat16 if state.get("precision") == str(torch.bfloat16) else torch.float32


def _follow(averages: list[Tensor], weights: list[Tensor], num_averaged: Tensor) -> None:
    """Exponential; short at first, so that the random start is soon forgotten."""
    num = int(num_averaged)
    torch._foreach_lerp_(averages, weights, 1 - min(_DECAY, num / (num + 10)))


def pick_device(wanted: str) -> str:
    """The device that `--device` means on this machine."""
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return wanted


def _pick_precision(device: str) -> torch.dtype:
    """bfloat16 where it is clearly faster: some CPUs multiply it 4 times as fast as float32, others more slowly."""
    if device == "cuda":
        return torch.bfloat16
    left, right = torch.randn(2048, 128, device=device), torch.randn(128, 512, device=device)
    seconds = {torch.float32: float("inf"), torch.bfloat16: float("inf")}
    for dtype in [*seconds] * _TIMING_ROUNDS:  # by turns, and the best of each: other processes disturb single rounds
        a, b = left.to(dtype), right.to(dtype)
        float((a @ b).sum())  # the first call sets up the kernel
        started = time.perf_counter()
        for _ in range(10):
            result = a @ b
        float(result.sum())
        seconds[dtype] = min(seconds[dtype], time.perf_counter() - started)
    return torch.bfloat16 if seconds[torch.bfloat16] < 0.7 * seconds[torch.float32] else torch.float32
