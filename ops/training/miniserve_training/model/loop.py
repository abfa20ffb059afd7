"""Trains the Mini-GPT: `train(TrainOptions(...))` writes checkpoints, `metrics.csv` and weights without thresholds.

Warm-up, then linear decay over the examples of the run. A run that was stopped goes on from its checkpoint.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from itertools import chain
from pathlib import Path
from random import Random

import torch
from tqdm import tqdm

from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from miniserve_training.model.batches import Batch, batch_stream
from miniserve_training.model.export import export, read_twin, weights_origin
from miniserve_training.model.progress import MetricsLog
from miniserve_training.model.streams import background_batches
from miniserve_training.model.trainer import Trainer
from miniserve_training.model.twin import Twin, TwinConfig
from miniserve_training.options import TrainOptions
from miniserve_training.text.corpus import read_corpus
from miniserve_training.text.maker import ExampleMaker, Mix
from miniserve_training.text.written import lines as written

_CHECKPOINT_EVERY_S = 180.0
_METRICS_EVERY_STEPS = 100
_STREAM_SEED_STRIDE = 100_003
_RESUME_SEED_STRIDE = 1_000_003  # a stream that goes on after a stop must not repeat the corruptions of the first


def train(options: TrainOptions) -> Path:
    """Train, or go on with a stopped run, and return the path of the exported weights, which are not calibrated.

    Raises ValueError where the weights to start from are missing, damaged or of another tokenizer.
    """
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint, tokenizer, start = options.out / "checkpoint.pt", Tokenizer.load(), options.start_from
    if options.start_share and not start:
        raise ValueError("a share of the weights to start from is kept, and none are named: --start-from FILE")
    twin = read_twin(start, tokenizer) if start else Twin(TwinConfig(vocab_size=tokenizer.vocab_size))
    started = deepcopy(twin)
    trainer = Trainer(options, twin, weights_origin(start) if start else None)
    if checkpoint.exists():
        trainer.load(checkpoint)
    trainer.note_commit()
    if not trainer.progress.is_over(options):
        _learn(trainer, tokenizer, checkpoint)
    return export(trainer, started, tokenizer, options.out / "trained.safetensors")


def _learn(trainer: Trainer, tokenizer: Tokenizer, checkpoint: Path) -> None:
    """Until the end, or until Ctrl-C or SIGTERM; what was learnt is saved either way."""
    options, steps_before = trainer.options, trainer.progress.steps
    make_stream = batch_streams(options, tokenizer, options.seed + _RESUME_SEED_STRIDE * trainer.progress.examples)
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with closing(background_batches(make_stream, options.num_streams)) as batches:
            _run(trainer, batches, checkpoint)
    except (KeyboardInterrupt, RuntimeError):  # a process that makes batches may fail
        if trainer.progress.steps > steps_before:
            trainer.save(checkpoint)
        raise


def batch_streams(options: TrainOptions, tokenizer: Tokenizer, seed: int) -> Callable[[int], Iterator[Batch]]:
    """A function that gives the endless batches of a stream's number, of the sentences that are not held out."""
    sentences = [one for one in read_corpus(options.corpora) if not one.is_held_out]
    lines = [*written.load(), *chain.from_iterable(map(written.read, options.lines))]
    mix = Mix(lines, options.written_share, options.right_prose)
    maker = ExampleMaker(VerbTable.load(), sentences, mix=mix)
    maker.find_candidates(options.num_streams)

    def stream(number: int) -> Iterator[Batch]:
        own_seed = seed + _STREAM_SEED_STRIDE * number
        return batch_stream(maker.stream(own_seed), tokenizer, options.tokens_per_batch, Random(own_seed))

    return stream


def _run(trainer: Trainer, batches: Iterator[Batch], checkpoint: Path) -> None:
    options, progress = trainer.options, trainer.progress
    log = MetricsLog(options.out / "metrics.csv", is_new=progress.steps == 0)
    started, saved = time.monotonic() - progress.elapsed_s, progress.elapsed_s
    with tqdm(total=options.examples, initial=progress.examples, unit="ex", smoothing=0.02, mininterval=2.0) as bar:
        for batch in batches:
            log.add(*trainer.step(batch))
            progress.elapsed_s = time.monotonic() - started
            bar.update(len(batch))
            is_over = progress.is_over(options)
            if is_over or progress.steps % _METRICS_EVERY_STEPS == 0:
                bar.set_postfix_str(f"loss {log.write(progress):.3f}")
            if is_over or progress.elapsed_s - saved >= _CHECKPOINT_EVERY_S:
                trainer.save(checkpoint)
                saved = progress.elapsed_s
            if is_over:
                return
