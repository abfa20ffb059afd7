"""`miniserve-training`: makes the model's weights, text and figures, in a clone of the repository.

PyTorch is imported by the commands that need it, and only once they run.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import click

from worker.model.blas import configure_blas

configure_blas(os.environ)  # before NumPy is there to read it

from miniserve_training import natural  # noqa: E402
from miniserve_training.model.calibration import calibrate, uncalibrated  # noqa: E402
from miniserve_training.options import TrainOptions  # noqa: E402
from miniserve_training.text import ngrams, vocabulary  # noqa: E402
from miniserve_training.text.written import check  # noqa: E402
from ops.evaluation.command import ALL, correct  # noqa: E402
from ops.evaluation.items import read_items  # noqa: E402
from ops.run.offline import OfflineCorrector  # noqa: E402
from scheduler.settings import Settings  # noqa: E402
from worker.model.weights import DEFAULT_PATH, load_weights  # noqa: E402

RECIPE = Path(__file__).with_name("recipe.toml")
WEIGHTS = DEFAULT_PATH.name
_DEVELOPMENT = Path(__file__).parents[3] / "docs" / "training" / "development"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Make the model's weights, text and figures."""


main.add_command(check.main, "check-lines")
main.add_command(vocabulary.main, "vocabulary")
main.add_command(natural.main, "natural")
main.add_command(ngrams.main, "ngrams")


@main.command()
@click.argument("corpora", type=_FILE, nargs=-1, required=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/train"), show_default=True,
              help="Where all files go. A step whose file is there is not done again.")  # fmt: skip
@click.option("--recipe", type=_FILE, default=RECIPE, help="Another recipe than recipe.toml of this package.")
@click.option("--lines", type=_FILE, multiple=True,
              help="A file of written lines to learn from, next to those of this package. Repeatable.")  # fmt: skip
@click.option("--start-from", type=_FILE, help="Weights to begin with instead of random ones.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
              help="Where to train.")  # fmt: skip
@click.option("--generators", "num_streams", type=click.IntRange(1, 64), default=1, show_default=True,
              help="Processes that make examples, 1 to 64: as many as there are cores beside a GPU.")  # fmt: skip
def train(corpora: tuple[Path, ...], out: Path, recipe: Path, **how: Any) -> None:
    """Make weights from CORPORA, files of tagged sentences (.tsv, .tsv.gz), by a recipe.

    Train, and calibrate what comes out. A run that was stopped goes on where it was, by the same command.
    """
    development = _development_sets()  # hours before they are needed
    steps = tomllib.loads(recipe.read_text(encoding="utf-8"))
    if named := steps.pop("start_from", None):
        how["start_from"] = how["start_from"] or recipe.parent / named
    trained = out / "trained.safetensors"
    try:
        options = TrainOptions(corpora=corpora, out=out, **steps, **how)
    except TypeError as error:
        raise click.ClickException(f"{recipe}: {error}") from None
    from miniserve_training.model import loop

    try:
        if not trained.exists():
            loop.train(options)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    natural.write_files(out / "natural", corpora)
    right, *wrong = (*(out / "natural" / name for name in natural.CALIBRATION), *development)
    corrector = OfflineCorrector.load(Settings(strictness=ALL), uncalibrated(load_weights(trained)))
    as_it_stands, *of_wrong = (correct(read_items(path), corrector) for path in (right, *wrong))
    calibrate(as_it_stands, of_wrong, out / WEIGHTS, of=trained)
    click.echo(out / WEIGHTS)


def _development_sets() -> list[Path]:
    """Files of sentences that a calibration is made on, too. Raises ClickException where they are not there."""
    if not (files := sorted(_DEVELOPMENT.glob("*.jsonl"))):
        raise click.ClickException(f"there are no development sets in {_DEVELOPMENT}: make weights in a clone")
    return files
