"""`miniserve train` and `miniserve eval`. PyTorch is imported by `train` alone, and only once it runs."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from ops.options import RangedType, option, with_settings
from ops.training.options import TrainOptions
from ops.training.text import tables
from scheduler.settings import Range, Settings
from worker.model.blas import configure_blas

_DEFAULTS = TrainOptions(corpora=())
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@option("--corpus", type=_FILE, multiple=True, required=True,
        help="Tagged sentences (.tsv or .tsv.gz); may be given more than once.")  # fmt: skip
@option("--mined", type=_FILE, multiple=True,
        help="Sentences of the corpus that a model changed, as miniserve training mine writes them: the right ones are "
             "met more often, the flawed ones not at all; may be given more than once.")  # fmt: skip
@option("--run-dir", "--out", "out", type=click.Path(file_okay=False, path_type=Path), default=_DEFAULTS.out,
        show_default=True, help="Folder for checkpoints, metrics and weights.")  # fmt: skip
@option("--examples", type=RangedType(int, Range(1, 1_000_000_000)), default=_DEFAULTS.num_examples, show_default=True,
        help="Examples to see in all, 1 to 1,000,000,000.")  # fmt: skip
@option("--max-minutes", type=RangedType(float, Range(0.1, 100_000)),
        help="End after this many minutes (from 0.1), even if examples are left.")  # fmt: skip
@option("--until", type=RangedType(int, Range(1, 1_000_000_000)),
        help="End after so many examples, before the rates have come down, 1 to 1,000,000,000.")  # fmt: skip
@option("--training-seed", "--seed", "seed", type=RangedType(int, Range(0, 1_000_000_000)),
        default=_DEFAULTS.seed, show_default=True, help="Seed of the weights and of the examples, from 0.")  # fmt: skip
@option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
        help="Device to train on.")  # fmt: skip
@option("--processes", type=RangedType(int, Range(1, 64)), default=_DEFAULTS.num_processes, show_default=True,
        help="CPU processes that share the work, one core each, 1 to 64.")  # fmt: skip
@option("--generators", type=RangedType(int, Range(1, 64)), default=_DEFAULTS.num_streams, show_default=True,
        help="Processes that make examples, 1 to 64: as many as there are cores beside a GPU.")  # fmt: skip
@option("--batch-tokens", type=RangedType(int, Range(200, 1_000_000)), default=_DEFAULTS.tokens_per_batch,
        show_default=True, help="Tokens in a batch, 200 to 1,000,000: 131072 for a GPU.")  # fmt: skip
@option("--compile", is_flag=True, help="Compile the model first (needs g++): a minute's wait, then a quarter faster.")
@option("--start-from", type=_FILE,
        help="Weights (.safetensors, of the same tokenizer) to begin with instead of random ones.")  # fmt: skip
@option("--top-rate", type=RangedType(float, Range(0.01, 10.0)), default=_DEFAULTS.top_rate, show_default=True,
        help="Share of the usual learning rates to come down from, 0.01 to 10: a third keeps more of --start-from, "
             "4 is for batches of 131072 tokens.")  # fmt: skip
@option("--written-share", type=RangedType(float, Range(0.0, 1.0)), default=_DEFAULTS.written_share, show_default=True,
        help="Share of written lines among the examples that are no prose, 0 to 1.")  # fmt: skip
@option("--right-prose", type=RangedType(float, Range(0.0, 1.0)), default=_DEFAULTS.right_prose, show_default=True,
        help="Share of right sentences in prose, 0 to 1.")  # fmt: skip
@option("--part", is_flag=True, help="Score nothing and choose no bias: the weights are joined with others.")
@option("--resume", is_flag=True, help="Go on from the checkpoint in RUN_DIR; a new run where there is none.")
def train(**values: object) -> None:
    """Train the Mini-GPT and write mini-gpt.safetensors into the folder of --run-dir.

    Mistakes are made in the sentences of the corpus; two in five examples come from lines that were
    generated with a language model and are part of the repository. Needs PyTorch, which make train installs.
    """
    if not tables.FOLDER.is_dir():
        raise click.ClickException("the training sentences are not installed: run make train in the repository")
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("tqdm") is None:
        raise click.ClickException("training needs PyTorch and tqdm: pip install --editable '.[train]'")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    from ops.training.model import loop

    names = {
        "corpus": "corpora",
        "examples": "num_examples",
        "processes": "num_processes",
        "compile": "compiles",
        "generators": "num_streams",
        "batch_tokens": "tokens_per_batch",
        "part": "is_part",
    }
    try:
        click.echo(loop.train(TrainOptions(**{names.get(name, name): value for name, value in values.items()})))
    except (FileExistsError, ValueError) as error:
        raise click.ClickException(str(error)) from None


@click.command()
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@with_settings("strictness", "kv_budget_tokens", "max_slots", "max_iteration_tokens")
@option("--json", "as_json", is_flag=True)
@option("--show", type=click.Choice(["wrong", "changed"]), multiple=True,
        help="Print the wrong sentences not mended exactly, or the right ones changed; may be "
             "given twice.")  # fmt: skip
@option("--calibrate", type=click.Path(dir_okay=False, path_type=Path),
        help="Write the shipped weights there, with how certain an edit must be for each reason.")  # fmt: skip
@option("--most-changed", type=RangedType(float, Range(0.0, 1.0)), default=0.008, show_default=True,
        help="With --calibrate: the share of the right sentences that may be changed, 0 to 1.")  # fmt: skip
def eval_(
    settings: Settings, files: tuple[Path, ...], as_json: bool, show: tuple[str, ...], **calibration: Any
) -> None:
    """Score the shipped model on FILEs: JSON lines {"sentence", "corrected", "reasons"?}, M2 (.m2) or columns (.tsv).

    A sentence that equals its correction is a clean one. The whole product is scored at the strictness it is served
    with, guard included; with --calibrate, what the model makes of FILEs at every strictness decides.
    """
    if as_json and show:
        raise click.UsageError("--json and --show do not go together")
    configure_blas(os.environ)
    from ops.training.evaluation.calibration import calibrate, uncalibrated
    from ops.training.evaluation.run import EvaluationRun
    from worker.model.weights import WeightsError, load_weights

    out = calibration["calibrate"]
    try:
        run = EvaluationRun.load(settings, files, uncalibrated(load_weights()) if out else None)
    except (WeightsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    run.correct(sys.stderr)
    if out:
        asked = calibrate(run.results, calibration["most_changed"], out)
        click.echo(
            json.dumps(asked) if as_json else "\n".join(f"{name:<26}{value:>5.1f}" for name, value in asked.items())
        )
        return
    click.echo(json.dumps(run.as_document()) if as_json else run.format(show))
