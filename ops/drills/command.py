"""The command `miniserve chaos`: which drills, in which form, a table, a file."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ops.drills.catalogue import DRILLS
from ops.drills.drill import Drill, Result, Stage, hold
from ops.options import NewFile, number, option
from ops.provenance import provenance
from ops.tables import table

_HOW_TO = """
miniserve chaos NAME... --quick   runs the short form of these drills, seconds each
miniserve chaos NAME...           runs them in full, minutes each
miniserve chaos --all             runs all of them, 60 minutes"""
_COUNTS = ("requests", "lost", "duplicated", "wrong", "refused")
_COLUMNS = ("drill", ">requests", ">lost", ">twice", ">wrong", ">refused", ">added p99 ms", ">max ms", "conserved",
            "passed", "bar")  # fmt: skip


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*DRILLS]), metavar="[NAME]...")
@option("--all", is_flag=True, help="Run all drills.")
@option("--quick", is_flag=True)
@option("--save", type=NewFile(), metavar="FILE")
@option("--seed", type=number(int, 0, 2**31), default=0, show_default=True)
def chaos(names: tuple[str, ...], quick: bool, seed: int, **asked: Any) -> None:
    """Run the fault drills NAME..., or all of them with --all. Without a name it lists them.

    Each starts a system of its own on free ports: Redis, API replicas, workers. It puts a load on the system, injects
    its fault, and compares every answer with that of a calm run. At every moment accepted must equal done + failed +
    cancelled + expired + removed + waiting + running.

    All drills in full take 60 minutes, 30 of them the soak. Run nothing else meanwhile: some bars are times.

    Exits with 0 only if every bar is met.
    """
    file: Path | None = asked["save"]
    drills = [DRILLS[name] for name in (DRILLS if asked["all"] else dict.fromkeys(names))]
    if not (drills or quick or file):
        click.echo("\n".join(f"{drill.name:16} {drill.what}\n{'':16} bar: {drill.bar}" for drill in DRILLS.values()))
        click.echo(_HOW_TO, err=True)
        return
    if not drills:
        raise click.UsageError("which drills? Name some, or --all; `miniserve chaos` lists them")
    for each in (signal.SIGTERM, signal.SIGINT):  # a shell's background jobs are born deaf to the second
        signal.signal(each, signal.default_int_handler)
    results: list[Result] = []
    about = provenance() | {"form": "quick" if quick else "full", "seed": seed}  # the commit may be another in the end
    try:
        for drill in drills:
            results.append(_hold(drill, quick, seed))
            click.echo(said(results[-1]))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        if results:
            click.echo(table(_COLUMNS, map(_cells, results)))
        if file is not None:
            document = {**about, "drills": [result.document() for result in results]}
            file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    raise SystemExit(0 if all(result.has_passed for result in results) else 1)


def _hold(drill: Drill, is_quick: bool, seed: int) -> Result:
    """With a line on standard error where a person looks on."""
    with Console(stderr=True).status(drill.name) as status:

        def show(share: float, words: str) -> None:
            status.update(f"{drill.name}: {min(1.0, share):.0%}, {words}")

        return hold(drill, Stage(is_quick, seed, show))


def said(result: Result) -> str:
    """Whether it has passed, and every check that was not met."""
    lines = [f"{result.drill.name}: {'passed' if result.has_passed else 'FAILED'} in {result.seconds:g} s"]
    return "\n".join(lines + [f"  {one.what}: {one.value}, asked {one.bar}" for one in result.checks if not one.is_met])


def _cells(result: Result) -> list[object]:
    figures, name = result.figures, result.drill.name
    counts = [figures.get(each) for each in (*_COUNTS, "added_p99_ms", "max_ms")]
    passed = "yes" if result.has_passed else "NO"
    conserved = "exact" if result.checks[-1].is_met else "NO"
    return [name, *counts, conserved, passed, result.drill.bar]
