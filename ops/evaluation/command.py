"""`miniserve eval`: all files are read before the first sentence is corrected, so that a bad line shows at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from api.grammar.pipeline import Level
from ops.evaluation.items import Item, read_items
from ops.evaluation.report import as_document, draw_reliability, format_misses, format_table
from ops.evaluation.scores import Result, evaluate, score
from ops.options import NewFile, option, with_settings
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings
from worker.model.weights import WeightsError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
ALL = -20.0  # the strictness at which every edit is made
_LONG = 1_000  # sentences, some seconds


@click.command()
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@with_settings("strictness")
@option("--json", "as_json", is_flag=True)
@option("--show", type=click.Choice(["wrong", "changed"]), multiple=True,
        help="Print the wrong sentences not mended exactly, or the right ones changed; may be "
             "given twice.")  # fmt: skip
@option("--level", type=click.Choice(["quiet", "picky"]), default="quiet", show_default=True)
@option("--reliability", type=NewFile(),
        help="Draw there how often edits of each confidence are right. A .png or .svg.")  # fmt: skip
def eval_(
    settings: Settings,
    files: tuple[Path, ...],
    as_json: bool,
    show: tuple[str, ...],
    level: Level,
    **out: Path | None,
) -> None:
    """Score the shipped model on FILEs: JSON lines {"sentence", "corrected", "reasons"?}, or M2 (.m2).

    A sentence that equals its correction is a clean one. The whole product is scored as it is served, guard included;
    with --reliability all edits count, however doubtful.
    """
    if as_json and show:
        raise click.UsageError("--json and --show do not go together")
    reliability = out["reliability"]
    if reliability:
        settings, level = replace(settings, strictness=ALL), "quiet"
    try:
        items = [item for path in files for item in _read(path)]
        corrector = OfflineCorrector.load(settings, level=level)
    except (WeightsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    results = correct(items, corrector)
    if reliability:
        draw_reliability(score(results), reliability)
    if as_json:
        click.echo(json.dumps({"strictness": settings.strictness, "level": level} | as_document(score(results))))
    else:
        misses = "".join(f"{line}\n" for line in format_misses(results, show))
        click.echo(f"strictness {settings.strictness:g}, {level}\n\n{misses}{format_table(score(results))}")


def correct(items: Sequence[Item], corrector: OfflineCorrector) -> list[Result]:
    """Correct everything; on a terminal a bar shows how far it is."""
    is_hidden = len(items) < _LONG or not sys.stderr.isatty()
    results = evaluate(items, corrector)
    with click.progressbar(results, len(items), "sentences", file=sys.stderr, hidden=is_hidden) as bar:
        return list(bar)


def _read(path: Path) -> list[Item]:
    """Raises ValueError for a file with a bad line or without any."""
    if items := read_items(path):
        return items
    raise ValueError(f"{path} holds no sentence to score; write at least one line")
