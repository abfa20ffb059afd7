"""`python -m ops.metrics_cost`: see the help of `main`."""

from __future__ import annotations

import json
import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ops.metrics_cost import pieces, scripts, whole
from ops.metrics_cost.trees import HERE, Tree, TreeError, checked_out
from ops.metrics_cost.whole import Comparison, Load, Sample
from ops.provenance import cpu_name, git_commit

_BEFORE = "67b060a"  # the last commit without metrics


@click.command()
@click.option("--before", default=_BEFORE, show_default=True, help="The commit to compare the working tree with.")
@click.option("--clients", type=click.IntRange(1, 1024), default=16, show_default=True, help="Of the closed loop.")
@click.option("--seconds", type=click.FloatRange(1, 600), default=20.0, show_default=True, help="Each turn of a tree.")
@click.option("--rounds", type=click.IntRange(0, 100), default=8, show_default=True, help="Turns; 0: only the pieces.")
@click.option(
    "--scrape-every", "scrape_every_s", type=click.FloatRange(0.1, 600), default=5.0, show_default=True, help="Seconds."
)
@click.option(
    "--now", "options", default="", help="Options of `miniserve up` for the working tree: what is switched off."
)
@click.option("--json", "path", type=click.Path(dir_okay=False, path_type=Path), help="File for all figures.")
def main(before: str, options: str, path: Path | None, **asked: Any) -> None:
    """What metrics cost, in microseconds of CPU per request.

    First the pieces by themselves: counting, reporting, telling, and what the scripts cost Redis, with those of the
    earlier commit beside them. Then both trees under the same closed loop in turn, and the CPU seconds of API, worker
    and Redis per answer: the ratio is the cost of all that has come since that commit. A part of it is told apart by
    another commit with --before, or by what can be switched off with --now.

    Takes two minutes and (2 x rounds x seconds); leave the machine alone meanwhile. It is a bar of 2 %: with less than
    eight rounds of 20 s the standard error is about as large. Needs the git repository, and Linux.
    """
    load = Load(**asked)
    try:
        with tempfile.TemporaryDirectory() as folder, checked_out(before, Path(folder) / "before") as earlier:
            figures = _measure((earlier, Tree("now", HERE, tuple(shlex.split(options)))), load)
    except (TreeError, RuntimeError) as error:
        raise click.ClickException(str(error)) from None
    if path is not None:
        about = {"before": before, "now": git_commit(), "options": options, "cpu": cpu_name(), "load": asdict(load)}
        path.write_text(json.dumps(about | figures, indent=2) + "\n", encoding="utf-8")


def _measure(trees: tuple[Tree, Tree], load: Load) -> dict[str, Any]:
    comparison = Comparison()
    if load.rounds:
        for sample in whole.compare(trees, load):
            comparison.samples.append(sample)
            click.echo(_sample_line(sample))
    requests_per_s = _rate(comparison)
    figures = {"pieces": _show_pieces(load, requests_per_s), "scripts": _show_scripts(trees, requests_per_s)}
    if load.rounds:
        figures["whole"] = _show_whole(comparison)
    return figures


def _rate(comparison: Comparison) -> float:
    """What the pieces that come by the second are divided by."""
    now = comparison.of("now")
    return sum(one.answers for one in now) / sum(one.seconds for one in now) if now else 500.0


def _show_pieces(load: Load, requests_per_s: float) -> list[dict[str, Any]]:
    found = []
    click.echo(f"pieces, at {requests_per_s:,.0f} requests/s        us each   us/request")
    for piece in pieces.measure(load.scrape_every_s):
        share = piece.us_per_request(requests_per_s)
        click.echo(f"  {piece.name:<32} {piece.us:10.2f} {share:12.2f}")
        found.append(asdict(piece) | {"us_per_request": share})
    return found


def _show_scripts(trees: tuple[Tree, Tree], requests_per_s: float) -> dict[str, dict[str, float]]:
    found = {tree.name: asdict(scripts.measure(tree)) for tree in trees}
    click.echo(f"Redis, us of scripts                    {trees[0].name:>8} {trees[1].name:>12}")
    for name in found[trees[0].name]:
        first, second = (found[tree.name][name] for tree in trees)
        click.echo(f"  {name:<36} {first:10.2f} {second:12.2f}")
    return found


def _show_whole(comparison: Comparison) -> dict[str, Any]:
    means = {
        tree: {"all": comparison.mean_us(tree)}
        | {role: comparison.mean_us(tree, role) for role in comparison.samples[0].cpu_us}
        for tree in ("before", "now")
    }
    for tree, by_role in means.items():
        click.echo(
            f"  {tree:<8}" + ", ".join(f"{role} {us:,.1f}" for role, us in by_role.items()) + " us of CPU/answer"
        )
    percent, error = comparison.more_percent("before", "now")
    click.echo(f"metrics cost {percent:+.2f} % (standard error {error:.2f}) of the CPU time of a request")
    samples = [asdict(sample) for sample in comparison.samples]
    return {"cpu_us": means, "more_percent": percent, "standard_error": error, "samples": samples}


def _sample_line(sample: Sample) -> str:
    rate = sample.answers / sample.seconds
    return f"  {sample.tree:<8} {sample.total_us:8,.1f} us of CPU per answer, {rate:,.0f} answers/s"


if __name__ == "__main__":
    main()
