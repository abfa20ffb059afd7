"""Trains the Mini-GPT: `train(TrainOptions(...))` writes checkpoints, `metrics.csv` and `mini-gpt.safetensors`.

Warm-up, then linear decay. How far the decay has come follows the examples seen or the minutes spent, whichever is
further, so that a run ends in time however busy the machine is. At the end the plain weights and their moving average
are compared on held-out sentences, and the better ones are exported. Called by `miniserve train`; the only part of the
product, with its neighbours here, that needs PyTorch.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from tqdm import tqdm

from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from ops.training.evaluation.heldout import HeldOut, HeldOutOptions
from ops.training.evaluation.tuning import tuned_bias, tuning_set
from ops.training.mining import is_probably_right, read_mined
from ops.training.model.batches import BackgroundBatches, Batch, BatchOptions, batch_stream
from ops.training.model.export import AVERAGE, KINDS, Choice, export, load_twin, num_layers_in
from ops.training.model.progress import MetricsLog
from ops.training.model.trainer import Trainer
from ops.training.model.twin import TwinConfig
from ops.training.options import TrainOptions
from ops.training.text.corpus import read_corpus
from ops.training.text.maker import ExampleMaker, Mix
from ops.training.text.written import lines as written

_CHECKPOINT_EVERY_S = 180.0
_SCORE_EVERY_S = 300.0
_METRICS_EVERY_STEPS = 100
_SCORE_ITEMS = 500  # wrong sentences, and as many clean ones
_STREAM_SEED_STRIDE = 100_003
_RESUME_SEED_STRIDE = 1_000_003  # a stream that goes on after a stop must not repeat the corruptions of the first


def train(options: TrainOptions) -> Path:
    """Train, or go on with a stopped run, and return the path of the exported weights.

    Raises FileExistsError where a run would be overwritten, ValueError where the weights to start from do not fit.
    """
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists() and not options.resume:
        raise FileExistsError(f"{checkpoint} holds another run: go on with it by --resume, or choose another --run-dir")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load()
    config = TwinConfig(vocab_size=tokenizer.vocab_size)
    if options.start_from:
        config = replace(config, num_layers=num_layers_in(options.start_from))
    trainer = Trainer(options, config)
    if checkpoint.exists():
        trainer.load(checkpoint)
    elif options.start_from:
        trainer.start_from(options.start_from, tokenizer)
    trainer.note_commit()
    if not trainer.progress.is_over(options):
        _learn(trainer, tokenizer, checkpoint)
    return finish(options)


def _learn(trainer: Trainer, tokenizer: Tokenizer, checkpoint: Path) -> None:
    """Until the end, or until Ctrl-C or SIGTERM; what was learnt is saved either way."""
    options, steps_before = trainer.options, trainer.progress.steps
    stream_seed = options.seed + _RESUME_SEED_STRIDE * trainer.progress.examples
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # before there are processes that it would leave behind
    trainer.start_processes()
    batches = BackgroundBatches(partial(batch_streams, options, stream_seed), options.num_streams)
    try:
        held_out = None
        if not options.is_part:
            held_out = HeldOut.make(options.corpora, tokenizer, HeldOutOptions(_SCORE_ITEMS, _SCORE_ITEMS))
        _run(trainer, batches, held_out, checkpoint)
    except (KeyboardInterrupt, RuntimeError):  # a process beside this one may fail
        if trainer.progress.steps > steps_before:
            trainer.save(checkpoint)
        raise
    finally:
        batches.close()
        trainer.close()


def finish(options: TrainOptions) -> Path:
    """Choose between the plain and the averaged weights, tune the bias of <eos>, write the weights file.

    Of a part it is the averaged ones without a bias: the mean of the parts is calibrated.
    """
    checkpoint = options.out / "checkpoint.pt"
    if options.is_part:
        return export(checkpoint, options.out / "mini-gpt.safetensors", options, Choice(AVERAGE))
    tokenizer = Tokenizer.load()
    config = TwinConfig(vocab_size=tokenizer.vocab_size)
    held_out = tuning_set(options.corpora, tokenizer)
    losses = {kind: held_out.output_loss(load_twin(checkpoint, config, kind=kind)) for kind in KINDS}
    kind = min(losses, key=losses.get)
    twin = load_twin(checkpoint, config, kind=kind)
    eos_bias = tuned_bias(twin, held_out, options.corpora, options.out)
    return export(checkpoint, options.out / "mini-gpt.safetensors", options, Choice(kind, losses, eos_bias))


def batch_streams(options: TrainOptions, seed: int) -> Callable[[int], Iterator[Batch]]:
    """A function that gives the endless batches of a stream's number; runs in the data process.

    They come from the sentences that are neither held out nor found to be flawed by mining.
    """
    mined = [found for path in options.mined for found in read_mined(path)]
    flawed = {found.sentence for found in mined if not is_probably_right(found)}
    right = {found.sentence for found in mined} - flawed
    sentences = [one for one in read_corpus(options.corpora) if not one.is_held_out and one.text not in flawed]
    mix = Mix(written.load(), right, options.written_share, options.right_prose)
    maker = ExampleMaker(VerbTable.load(), sentences, mix=mix)
    maker.find_candidates(options.num_streams)
    batch_options, tokenizer = BatchOptions(tokens_per_batch=options.tokens_per_batch), Tokenizer.load()

    def stream(number: int) -> Iterator[Batch]:
        own_seed = seed + _STREAM_SEED_STRIDE * number
        return batch_stream(maker.stream(own_seed), tokenizer, batch_options, own_seed)

    return stream


def _run(trainer: Trainer, batches: BackgroundBatches, held_out: HeldOut | None, checkpoint: Path) -> None:
    options, progress = trainer.options, trainer.progress
    log = MetricsLog(options.out / "metrics.csv", is_new=progress.steps == 0)
    started = time.monotonic() - progress.elapsed_s
    saved = scored = progress.elapsed_s
    with tqdm(total=options.num_examples, initial=progress.examples, unit="ex", smoothing=0.02, mininterval=2.0) as bar:
        for step_batches in zip(*[iter(batches)] * options.num_processes, strict=False):
            log.add(*trainer.step(step_batches))
            progress.elapsed_s = time.monotonic() - started
            bar.update(sum(map(len, step_batches)))
            is_over = progress.is_over(options)
            if is_over or progress.steps % _METRICS_EVERY_STEPS == 0:
                is_due = is_over or progress.elapsed_s - scored >= _SCORE_EVERY_S
                scored = progress.elapsed_s if is_due else scored
                row = log.write(progress, held_out.score(trainer.twin, trainer.device) if is_due and held_out else None)
                bar.set_postfix_str(row)
            if is_over or progress.elapsed_s - saved >= _CHECKPOINT_EVERY_S:
                trainer.save(checkpoint)
                saved = progress.elapsed_s
            if is_over:
                return
