"""Trains the Mini-GPT: `train(TrainOptions(...))` writes checkpoints, `metrics.csv` and `mini-gpt.safetensors`.

Muon for the layers' matrices, AdamW for embeddings and norms, warm-up, then linear decay. How far the decay has come
follows the examples seen or the minutes spent, whichever is further, so that a run ends in time however busy the
machine is. Called by `miniserve train`; the only part of the product, with its neighbours here, that needs PyTorch.
"""

from __future__ import annotations

import csv
import logging
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from tqdm import tqdm

from api.tokenizer import Tokenizer
from api.verbs import VerbTable
from ops.training.batches import BackgroundBatches, Batch, BatchOptions, batch_stream, to_tensors
from ops.training.corpus import is_held_out, read_corpus
from ops.training.corruption import ExampleMaker
from ops.training.export import export, load_twin
from ops.training.heldout import HeldOut, HeldOutOptions, Score
from ops.training.muon import Muon
from ops.training.options import TrainOptions
from ops.training.tuning import choose_bias, trade_off, write_trade_off
from ops.training.twin import Twin, TwinConfig

logger = logging.getLogger(__name__)

MUON_RATE, ADAM_RATE = 0.01, 2e-3  # output loss .157 after 400,000 examples; .215 at 0.02 and 3e-3
WARM_UP_STEPS = 150
FINAL_RATE = 0.03
GRADIENT_NORM = 1.0
_CHECKPOINT_EVERY_S = 180.0
_SCORE_EVERY_S = 300.0
_METRICS_EVERY_STEPS = 100
_SCORE_ITEMS = 500  # wrong sentences, and as many clean ones
_TUNING_ITEMS = 1500
_RESUME_SEED_STRIDE = 1_000_003  # a stream that goes on after a stop must not repeat the corruptions of the first


@dataclass(slots=True)
class Progress:
    """What a run has behind it; saved with every checkpoint."""

    steps: int = 0
    examples: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0

    def share(self, options: TrainOptions) -> float:
        """How far the run has come, 0 to 1."""
        by_time = self.elapsed_s / (60 * options.max_minutes) if options.max_minutes else 0.0
        return min(1.0, max(self.examples / options.num_examples, by_time))

    def rate_scale(self, options: TrainOptions) -> float:
        """Factor of both learning rates."""
        return min(1.0, (self.steps + 1) / WARM_UP_STEPS) * (1 - (1 - FINAL_RATE) * self.share(options))


class Trainer:
    """A run: the model, its optimizers and how far it has come."""

    def __init__(self, options: TrainOptions, config: TwinConfig) -> None:
        self.options = options
        self.device = _pick_device(options.device)
        self.precision = _pick_precision(self.device)
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

    def step(self, batch: Batch) -> tuple[float, float]:
        """Learn from one batch; the output and the detection loss it had before."""
        scale = self.progress.rate_scale(self.options)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == torch.bfloat16):
            losses = self.twin.losses(to_tensors(batch, self.device))
        losses.total.backward()
        torch.nn.utils.clip_grad_norm_(self.twin.parameters(), GRADIENT_NORM)
        for optimizer, rate in self._optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
            with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == torch.bfloat16):
                optimizer.step()
            optimizer.zero_grad()
        self.progress.steps += 1
        self.progress.examples += len(batch)
        self.progress.tokens += int((batch.labels >= 0).sum() + (batch.targets >= 0).sum()) - len(batch)
        return losses.output.item(), losses.detection.item()

    def save(self, path: Path) -> None:
        """Write a checkpoint; a reader never sees half of one."""
        partial_path = path.with_suffix(".partial")
        state = {"twin": self.twin.state_dict(), "optimizers": [each.state_dict() for each in self._optimizers],
                 "progress": asdict(self.progress), "precision": str(self.precision)}  # fmt: skip
        torch.save(state, partial_path)
        os.replace(partial_path, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.twin.load_state_dict(state["twin"])
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.progress = Progress(**state["progress"])
        # A run goes on as it began, even where the other precision would be faster now.
        self.precision = torch.bfloat16 if state.get("precision") == str(torch.bfloat16) else torch.float32


def train(options: TrainOptions) -> Path:
    """Train, or go on with a stopped run, and return the path of the exported weights.

    Raises FileExistsError where a run would be overwritten.
    """
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists() and not options.resume:
        raise FileExistsError(f"{checkpoint} holds another run: go on with it by --resume, or choose another --out")
    torch.set_num_threads(options.num_threads)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load()
    trainer = Trainer(options, TwinConfig(vocab_size=tokenizer.vocab_size))
    if checkpoint.exists():
        trainer.load(checkpoint)
    if trainer.progress.share(options) < 1.0:
        _learn(trainer, tokenizer, checkpoint)
    return finish(options)


def _learn(trainer: Trainer, tokenizer: Tokenizer, checkpoint: Path) -> None:
    """Until the end, or until Ctrl-C or SIGTERM; what was learnt is saved either way."""
    options, steps_before = trainer.options, trainer.progress.steps
    stream_seed = options.seed + _RESUME_SEED_STRIDE * trainer.progress.examples
    batches = BackgroundBatches(partial(training_batches, options, stream_seed))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        held_out = HeldOut.make(options.corpora, tokenizer, HeldOutOptions(_SCORE_ITEMS, _SCORE_ITEMS))
        _run(trainer, batches, held_out, checkpoint)
    except KeyboardInterrupt:
        if trainer.progress.steps > steps_before:
            trainer.save(checkpoint)
        raise
    finally:
        batches.close()


def finish(options: TrainOptions) -> Path:
    """Tune the bias of <eos> for the run's checkpoint and write the weights file; returns its path."""
    checkpoint = options.out / "checkpoint.pt"
    tokenizer = Tokenizer.load()
    twin = load_twin(checkpoint, TwinConfig(vocab_size=tokenizer.vocab_size))
    held_out = HeldOut.make(options.corpora, tokenizer, HeldOutOptions(_TUNING_ITEMS, _TUNING_ITEMS, seed=8))
    scores = trade_off(twin, held_out)
    write_trade_off(scores, options.out / "eos_bias.csv")
    return export(checkpoint, options.out / "mini-gpt.safetensors", options, choose_bias(scores))


def training_batches(options: TrainOptions, seed: int) -> Iterator[Batch]:
    """Endless batches from the sentences that are not held out; runs in the data process."""
    sentences = [sentence for sentence in read_corpus(options.corpora) if not is_held_out(sentence.text)]
    maker = ExampleMaker(VerbTable.load(), sentences, kept_out_verbs=frozenset(options.kept_out_verbs))
    batch_options = BatchOptions(tokens_per_batch=options.tokens_per_batch)
    yield from batch_stream(maker.stream(seed), Tokenizer.load(), batch_options, seed)


def _run(trainer: Trainer, batches: BackgroundBatches, held_out: HeldOut, checkpoint: Path) -> None:
    options, progress = trainer.options, trainer.progress
    log = MetricsLog(options.out / "metrics.csv", is_new=progress.steps == 0)
    started = time.monotonic() - progress.elapsed_s
    saved = scored = progress.elapsed_s
    with tqdm(total=options.num_examples, initial=progress.examples, unit="ex", smoothing=0.02, mininterval=2.0) as bar:
        for batch in batches:
            log.add(*trainer.step(batch))
            progress.elapsed_s = time.monotonic() - started
            bar.update(len(batch))
            is_over = progress.share(options) >= 1.0
            if is_over or progress.steps % _METRICS_EVERY_STEPS == 0:
                is_due = is_over or progress.elapsed_s - scored >= _SCORE_EVERY_S
                scored = progress.elapsed_s if is_due else scored
                row = log.write(progress, held_out.score(trainer.twin, trainer.device) if is_due else None)
                bar.set_postfix_str(row)
            if is_over or progress.elapsed_s - saved >= _CHECKPOINT_EVERY_S:
                trainer.save(checkpoint)
                saved = progress.elapsed_s
            if is_over:
                return


class MetricsLog:
    """Rows of the learning curve, appended to a CSV file as they come."""

    COLUMNS = ("minutes", "steps", "examples", "tokens", "output_loss", "detection_loss", "exact", "false_positives")

    def __init__(self, path: Path, *, is_new: bool) -> None:
        self._path = path
        self._sums = [0.0, 0.0]
        self._num_steps = 0
        if is_new or not path.exists():
            self._append(self.COLUMNS, mode="w")

    def add(self, output_loss: float, detection_loss: float) -> None:
        self._sums = [self._sums[0] + output_loss, self._sums[1] + detection_loss]
        self._num_steps += 1

    def write(self, progress: Progress, score: Score | None) -> str:
        """Append the means since the last row; return them for the progress bar."""
        output_loss, detection_loss = (total / max(1, self._num_steps) for total in self._sums)
        self._sums, self._num_steps = [0.0, 0.0], 0
        shares = ("", "") if score is None else (f"{score.exact:.4f}", f"{score.false_positives:.4f}")
        self._append((f"{progress.elapsed_s / 60:.2f}", progress.steps, progress.examples, progress.tokens,
                      f"{output_loss:.4f}", f"{detection_loss:.4f}", *shares), mode="a")  # fmt: skip
        if score is not None:
            logger.info("%s examples: exact %s, false positives %s", progress.examples, *shares)
        return f"loss {output_loss:.3f}"

    def _append(self, row: tuple[object, ...], mode: str) -> None:
        with self._path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)


def _pick_device(wanted: str) -> str:
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return wanted


def _pick_precision(device: str) -> torch.dtype:
    """bfloat16 where it is clearly faster: some CPUs multiply it 4 times as fast as float32, others more slowly."""
    left, right = torch.randn(2048, 128, device=device), torch.randn(128, 512, device=device)
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = left.to(dtype), right.to(dtype)
        float((a @ b).sum())  # the first call sets up the kernel
        started = time.perf_counter()
        for _ in range(10):
            result = a @ b
        float(result.sum())
        seconds[dtype] = time.perf_counter() - started
    return torch.bfloat16 if seconds[torch.bfloat16] < 0.7 * seconds[torch.float32] else torch.float32
