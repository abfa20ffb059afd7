"""One command from the corpus files to weights: `miniserve training recipe CORPUS... --start-from W --out DIR`.

It mines the corpus, grows the weights, trains each part of the recipe, joins the parts and calibrates their mean. A
step whose file is there is not done again, so a stopped run goes on, and a step may be done on another machine. Needs
PyTorch.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ops.training.evaluation import natural
from ops.training.evaluation.calibration import calibrate, uncalibrated
from ops.training.evaluation.product import ProductCorrector
from ops.training.evaluation.run import EvaluationRun
from ops.training.mining import STRICTNESS, mine, write_mined
from ops.training.options import TrainOptions
from ops.training.text.corpus import read_corpus
from scheduler.settings import Settings
from worker.model.blas import configure_blas
from worker.model.weights import load_weights

DEFAULT = Path(__file__).with_name("recipe.toml")
WEIGHTS = "mini-gpt.safetensors"
_DEVELOPMENT = Path(__file__).parents[2] / "docs" / "training" / "development"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def follow(recipe: dict[str, Any], given: Path, corpora: tuple[Path, ...], out: Path, **how: Any) -> Path:
    """Do what is left of a recipe in the folder; returns the calibrated weights.

    `how`: options of every training that say where it runs, such as `compiles`.
    """
    from ops.training.model.grow import write_grown
    from ops.training.model.loop import train
    from ops.training.model.mean import write_mean_of

    out.mkdir(parents=True, exist_ok=True)
    mined, made = out / "mined.tsv", {"given": given, "grown": out / "grown.safetensors"}
    _unless_there(mined, lambda path: _mine(given, corpora, path))
    if "grow" in recipe:
        _unless_there(made["grown"], lambda path: write_grown(given, recipe["grow"]["layers"], path))
    for step in recipe["train"]:
        name, start, examples = step["name"], step.get("start"), step["examples"]
        mix = {key: value for key, value in step.items() if key not in ("name", "start", "examples", "learns_mined")}
        mix |= {"start_from": made[start] if start else None, "mined": (mined,) if step.get("learns_mined") else ()}
        made[name] = out / name / WEIGHTS
        options = TrainOptions(corpora, out / name, examples, is_part=True, resume=True, **mix, **how)
        _unless_there(made[name], lambda _, options=options: train(options))
    mean = out / "mean" / WEIGHTS
    _unless_there(mean, lambda path: write_mean_of({made[name]: part for name, part in recipe["mean"].items()}, path))
    _calibrate(mean, corpora, recipe["most_changed"], out)
    return out / WEIGHTS


def _unless_there(path: Path, make: Callable[[Path], object]) -> None:
    if path.exists():
        return
    click.echo(f"making {path}", err=True)
    make(path)


def _mine(weights: Path, corpora: Sequence[Path], path: Path) -> None:
    """Of natural text alone: most of what is changed is there, and short text takes five times as long."""
    loaded = load_weights(weights)
    loaded = replace(loaded, config=replace(loaded.config, eos_bias=STRICTNESS))
    corrector = ProductCorrector(Settings.from_env(os.environ), loaded)
    sentences = [sentence for sentence in read_corpus(corpora) if sentence.is_prose and sentence.source != "masc"]
    write_mined(mine(sentences, corrector), path)


def _calibrate(weights: Path, corpora: Sequence[Path], most_changed: float, out: Path) -> None:
    natural.write_files(out / "natural", corpora)
    files = [*(out / "natural" / name for name in natural.CALIBRATION), *development_sets()]
    run = EvaluationRun.load(Settings.from_env(os.environ), files, uncalibrated(load_weights(weights)))
    run.correct(sys.stderr)
    calibrate(run.results, most_changed, out / WEIGHTS, of=weights)


def development_sets() -> list[Path]:
    """Files of sentences that a calibration is made on, too. Raises ClickException where they are not there."""
    if not (files := sorted(_DEVELOPMENT.glob("*.jsonl"))):
        raise click.ClickException(f"there are no development sets in {_DEVELOPMENT}: make weights in a clone")
    return files


@click.command()
@click.argument("corpora", type=_FILE, nargs=-1, required=True)
@click.option("--start-from", "given", type=_FILE, required=True,
              help="The weights to mine with, and to begin with where the recipe does.")  # fmt: skip
@click.option("--recipe", type=_FILE, default=DEFAULT, help="Another recipe than ops/training/recipe.toml.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where all files go.")
@click.option("--compile", "compiles", is_flag=True, help="As for miniserve train.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
              help="As for miniserve train.")  # fmt: skip
@click.option("--generators", "num_streams", type=click.IntRange(1, 64), default=1, show_default=True,
              help="As for miniserve train, 1 to 64.")  # fmt: skip
def main(corpora: tuple[Path, ...], given: Path, recipe: Path, out: Path, **how: Any) -> None:
    """Make weights from the CORPORA by a recipe, in a clone."""
    configure_blas(os.environ)
    development_sets()  # hours before they are needed
    steps = tomllib.loads(recipe.read_text(encoding="utf-8"))
    click.echo(follow(steps, given, corpora, out, **how))
