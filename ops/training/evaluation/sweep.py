"""Scores the product at many strictnesses: `miniserve training sweep FILE... --out eos_bias-NAME.csv`.

The same columns as the `eos_bias.csv` that training writes, but of the whole product, guard included, and of any file
of sentences. `miniserve training plots` draws both.
"""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path

import click

from ops.training.evaluation.items import Item, read_items
from ops.training.evaluation.product import ProductCorrector
from ops.training.evaluation.scores import Scores, evaluate, score
from scheduler.settings import Settings
from worker.model.blas import configure_blas

STRICTNESSES = tuple(step / 4 for step in range(-4, 33))  # -1 to 8
_COLUMNS = ("exact", "tagged", "detection", "false_positives")


def sweep(items: list[Item], settings: Settings) -> dict[float, Scores]:
    """The scores at every strictness."""
    correctors = {bias: ProductCorrector(replace(settings, strictness=bias)) for bias in STRICTNESSES}
    return {bias: score(evaluate(items, corrector)) for bias, corrector in correctors.items()}


def write_sweep(scores: dict[float, Scores], path: Path) -> None:
    """The table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["eos_bias", *("detected" if name == "detection" else name for name in _COLUMNS)])
        for bias, one in scores.items():
            writer.writerow([f"{value:.4f}" for value in (bias, *(getattr(one, name) for name in _COLUMNS))])


@click.command()
@click.argument(
    "files", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True, metavar="FILE..."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="Where the table goes.")
def main(files: tuple[Path, ...], out: Path) -> None:
    """Score the shipped model on FILEs at strictnesses of -1 to 8."""
    configure_blas(os.environ)
    items = [item for path in files for item in read_items(path)]
    write_sweep(sweep(items, Settings.from_env(os.environ)), out)
