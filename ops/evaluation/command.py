"""`miniserve eval`: all files are read before the first sentence is corrected, so that a bad line shows at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ops.evaluation.items import Item, read_items
from ops.evaluation.report import as_document, format_misses, format_table
from ops.evaluation.scores import CorrectBatch, Result, evaluate, score
from ops.options import NewFile, number, option, with_settings
from ops.tables import table
from scheduler.settings import Settings

_LONG = 1_000  # sentences, some seconds


@click.command()
@click.argument(
    "files", metavar="FILE...", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True
)
@with_settings("strictness")
@option("--json", "as_json", is_flag=True)
@option("--show", type=click.Choice(["wrong", "changed"]), multiple=True,
        help="Print the wrong sentences not mended exactly, or the right ones changed; may be "
             "given twice.")  # fmt: skip
@option("--calibrate", type=NewFile(),
        help="Write the shipped weights there, with how certain an edit must be for each reason.")  # fmt: skip
@option("--most-changed", type=number(float, 0, 1), default=0.008, show_default=True,
        help="With --calibrate: the share of the right sentences that may be changed.")  # fmt: skip
def eval_(
    settings: Settings,
    files: tuple[Path, ...],
    as_json: bool,
    show: tuple[str, ...],
    **calibration: Any,
) -> None:
    """Score the shipped model on FILEs: JSON lines {"sentence", "corrected", "reasons"?}, or M2 (.m2).

    A sentence that equals its correction is a clean one. The whole product is scored at the strictness it is served
    with, guard included; with --calibrate, what the model makes of FILEs at every strictness decides.
    """
    if as_json and show:
        raise click.UsageError("--json and --show do not go together")
    from ops.evaluation.calibration import calibrate, uncalibrated
    from ops.evaluation.product import ProductCorrector
    from worker.model.weights import WeightsError, load_weights

    out = calibration["calibrate"]
    try:
        items = _read(files)
        corrector = ProductCorrector(settings, uncalibrated(load_weights()) if out else None)
    except (WeightsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    results = correct(items, corrector)
    if out:
        asked = calibrate(results, calibration["most_changed"], out)
        rows = [(name, f"{value:.1f}") for name, value in asked.items()]
        click.echo(json.dumps(asked) if as_json else table(("reason", ">certainty"), rows))
    elif as_json:
        click.echo(json.dumps({"strictness": corrector.strictness} | as_document(score(results))))
    else:
        misses = "".join(f"{line}\n" for line in format_misses(results, show))
        click.echo(f"strictness {corrector.strictness:g}\n\n{misses}{format_table(score(results))}")


def correct(items: Sequence[Item], corrector: CorrectBatch) -> list[Result]:
    """Correct everything; on a terminal a bar shows how far it is."""
    is_hidden = len(items) < _LONG or not sys.stderr.isatty()
    results = evaluate(items, corrector)
    with click.progressbar(results, len(items), "sentences", file=sys.stderr, hidden=is_hidden) as bar:
        return list(bar)


def _read(files: Sequence[Path]) -> list[Item]:
    """Raises ValueError for a file with a bad line or without any."""
    items = {path: read_items(path) for path in files}
    if empty := [path for path, found in items.items() if not found]:
        raise ValueError(f"{empty[0]} holds no sentence to score; write at least one line")
    return [*chain.from_iterable(items.values())]
