"""`miniserve training`: what makes the model's files and figures besides `miniserve train` and `miniserve eval`.

PyTorch is imported by the commands that need it, and only once they run.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import click

from ops.commands_elsewhere import CommandsElsewhere
from ops.training.text import tables

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Tools(CommandsElsewhere):
    ELSEWHERE = {
        "mine": ("training.mining", "main", "Find right sentences that the model changes, to learn from them."),
        "recipe": ("training.recipe", "main", "Make weights from the corpus by a recipe, in one command."),
        "sentences": ("training.text.descriptions", "main", "Cut package descriptions into sentences."),
        "tag": ("training.text.tagging", "main", "Tag sentences as the corpus is tagged."),
        "vocabulary": ("training.text.vocabulary", "main", "Train the tokenizer that ships."),
        "check-lines": ("training.text.written.check", "main", "Find faults in files of written training sentences."),
        "natural": (
            "training.evaluation.natural",
            "main",
            "Write natural text that no training sees as evaluation files.",
        ),
        "added": ("training.evaluation.added", "main", "Count the mistakes that answers add."),
        "sweep": ("training.evaluation.sweep", "main", "Score the product at many strictnesses."),
        "plots": ("training.evaluation.plots", "main", "Draw the figures of the model card."),
    }

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not tables.FOLDER.is_dir():
            raise click.ClickException("the training sentences are not installed: work in a clone of the repository")
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Tools)
def training() -> None:
    """Make the other files and figures of the model, in a clone of the repository."""


@training.command()
@click.argument("one", type=_FILE)
@click.argument("other", type=_FILE)
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--corpus", "corpora", type=_FILE, multiple=True, required=True, help="As for miniserve train.")
@click.option("--share", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of OTHER, 0 to 1.")
def mean(one: Path, other: Path, out: Path, corpora: tuple[Path, ...], share: float) -> None:
    """Join two weights files: their mean, with a bias chosen for it, goes into the folder OUT.

    ONE is what a training began with, OTHER what it made of it. Needs PyTorch.
    """
    click.echo(_of_pytorch("model.mean").write_mean(one, other, share, corpora, out))


@training.command()
@click.argument("weights", type=_FILE)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--layers", "num_layers", default=6, show_default=True, help="How many OUT is to have.")
def grow(weights: Path, out: Path, num_layers: int) -> None:
    """Add layers to WEIGHTS that change nothing until they are trained. Needs PyTorch."""
    _of_pytorch("model.grow").write_grown(weights, num_layers, out)


@training.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("corpora", type=_FILE, nargs=-1, required=True)
def held_out(out: Path, corpora: tuple[Path, ...]) -> None:
    """Write held-out sentences of CORPORA as an evaluation file: OUT, 3,000 wrong and 3,000 right. Needs PyTorch."""
    _of_pytorch("evaluation.heldout").write_held_out(out, corpora)


@training.command()
def golden() -> None:
    """Write the logits that tests compare the engine with: tests/unit/golden_logits.npz. Needs PyTorch."""
    _of_pytorch("model.golden").write_golden()


def _of_pytorch(module: str) -> ModuleType:
    try:
        return importlib.import_module(f"ops.training.{module}")
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is missing: pip install --editable '.[train]'") from None
