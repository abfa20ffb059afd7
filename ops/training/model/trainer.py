"""One run's state and its step: the model, its optimizers, the average of its weights, and where it came from.

Muon for the layers' matrices, AdamW for embeddings and norms.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from api.grammar.tokenizer import Tokenizer
from ops.provenance import git_commit, weights_origin
from ops.training.model.averaging import WeightAverage
from ops.training.model.batches import Batch
from ops.training.model.gradients import BatchLosses, GradientHelpers, Means
from ops.training.model.muon import Muon
from ops.training.model.progress import Progress
from ops.training.model.twin import TRAINING_ONLY, Twin, TwinConfig
from ops.training.options import TrainOptions

MUON_RATE, ADAM_RATE = 0.01, 2e-3  # output loss .157 after 400,000 examples; .215 at 0.02 and 3e-3
GRADIENT_NORM = 1.0
_TIMING_ROUNDS = 5


class Trainer:
    """A run: the model, its optimizers and how far it has come."""

    def __init__(self, options: TrainOptions, config: TwinConfig) -> None:
        self.options = options
        self.device = pick_device(options.device)
        self.precision = _pick_precision(self.device)
        self.commits: list[str] = []  # of the code, in the order in which the run met them
        self.origin: dict[str, object] | None = None  # of the weights it began from
        torch.manual_seed(options.seed)
        self.twin = Twin(config).to(self.device)
        self.progress = Progress()
        matrices = [p for name, p in self.twin.named_parameters() if name.startswith("layers.") and p.ndim == 2]
        in_layers = {id(matrix) for matrix in matrices}
        others = [p for p in self.twin.parameters() if id(p) not in in_layers]
        groups = [{"params": [p for p in others if p.ndim == 2], "weight_decay": 0.05},
                  {"params": [p for p in others if p.ndim == 1], "weight_decay": 0.0}]  # fmt: skip
        self._optimizers = {Muon(matrices, MUON_RATE): MUON_RATE,
                            torch.optim.AdamW(groups, lr=ADAM_RATE, betas=(0.9, 0.98)): ADAM_RATE}  # fmt: skip
        self.average = WeightAverage(self.twin)

    def start_from(self, path: Path, tokenizer: Tokenizer) -> None:
        """Begin with exported weights. The detection head, which no weights file holds, starts afresh.

        Raises ValueError where the file is damaged, or was made for another tokenizer or another shape of the model.
        """
        try:
            with safe_open(path, framework="pt") as file:
                metadata = file.metadata() or {}
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise ValueError(f"{path} is no weights file, or a damaged one: {error}") from None
        if metadata.get("tokenizer") != tokenizer.fingerprint:
            raise ValueError(
                f"{path} was trained with tokenizer {metadata.get('tokenizer')}, this one is {tokenizer.fingerprint}: "
                "start from random weights instead"
            )
        expected = {name: param.shape for name, param in self.twin.named_parameters() if name not in TRAINING_ONLY}
        if expected != {name: weight.shape for name, weight in weights.items()}:
            raise ValueError(f"{path} holds a model of another shape")
        self.twin.load_state_dict(weights, strict=False)
        self.average = WeightAverage(self.twin)
        self.origin = weights_origin(path)

    def note_commit(self) -> None:
        """Remember which code goes on with the run."""
        commit = git_commit()
        if not self.commits or self.commits[-1] != commit:
            self.commits.append(commit)

    def start_processes(self) -> None:
        """Get ready for steps of `num_processes` batches, once the weights are in place; `close` when done.

        Raises ValueError for several processes on a GPU.
        """
        options = self.options
        if options.num_processes > 1 and self.device != "cpu":
            raise ValueError(f"--processes {options.num_processes} is for the CPU; a GPU takes one")
        self._helpers = GradientHelpers(self.twin, options.num_processes - 1, self.precision, compiles=options.compiles)
        self._losses = BatchLosses(self.twin, self.device, self.precision, compiles=options.compiles)

    def close(self) -> None:
        """End the processes."""
        self._helpers.close()

    def step(self, batches: Sequence[Batch]) -> Means:
        """Learn from one batch a process; the mean output and detection loss they had before."""
        scale = self.progress.rate_scale(self.options)
        self._helpers.start(batches[1:])
        own = self._losses.backward(batches[0])
        means = [own, *self._helpers.finish()]
        torch.nn.utils.clip_grad_norm_(self.twin.parameters(), GRADIENT_NORM)
        for optimizer, rate in self._optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
            with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == torch.bfloat16):
                optimizer.step()
            optimizer.zero_grad()
        self.progress.steps += 1
        self.average.update(self.progress.steps)
        self.progress.examples += sum(map(len, batches))
        self.progress.tokens += sum(map(_num_tokens, batches))
        output, detection = (sum(each) / len(means) for each in zip(*means, strict=True))
        return output, detection

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


def _num_tokens(batch: Batch) -> int:
    return len(batch.label_places) + len(batch.target_places) - len(batch)


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
