"""The command `miniserve chaos`: which drills, in which form, a table that grows, a file."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ops.drills import table
from ops.drills.catalogue import DRILLS
from ops.drills.drill import Drill, Result, Stage, Stop, hold
from ops.options import option
from ops.provenance import cpu_name, git_commit

_HOW_TO = """
miniserve chaos NAME... --quick   runs the short form of these drills, seconds each
miniserve chaos NAME...           runs them in full, minutes each
miniserve chaos --all             runs all of them, 80 minutes"""
_BAR = "{desc} {percentage:3.0f} % |{bar:20}| {elapsed}{postfix}"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*DRILLS, "list"]), metavar="[NAME]...")
@option("--all", is_flag=True, help="Run all drills.")
@option("--quick", is_flag=True)
@option("--list", is_flag=True, help="List what the drills do and their bars, and run none.")
@option("--save", "--json", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE")
@option("--report", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
        help="Run none: print the figures of a saved file as the rows of docs/reliability.md.")  # fmt: skip
@option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
def chaos(names: tuple[str, ...], quick: bool, seed: int, **asked: Any) -> None:
    """Run the fault drills NAME..., or all of them with --all. Without a name it lists them.

    Each starts a system of its own on free ports: Redis, API replicas, workers. It puts a load on the system, injects
    its fault, and compares every answer with that of a calm run. At every moment accepted must equal done + failed +
    cancelled + expired + removed + waiting + running.

    All drills in full take 80 minutes, 30 of them the soak. Run nothing else meanwhile: some bars are times.

    Exits with 0 only if every bar is met.
    """
    if asked["report"]:
        click.echo("\n".join(table.markdown(json.loads(asked["report"].read_text(encoding="utf-8")))))
        return
    file: Path | None = asked["save"]
    asked_for = DRILLS if asked["all"] else dict.fromkeys(names)
    drills = [DRILLS[name] for name in asked_for if name in DRILLS]
    if asked["list"] or "list" in names or not (drills or quick or file):
        _list(drills or list(DRILLS.values()))
        return
    if file is not None and not file.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {file.parent}", param_hint="--save")
    if not drills:
        raise click.UsageError("which drills? Name some, or --all; `miniserve chaos` lists them")
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell's background jobs are born deaf to the second
        signal.signal(number, stop)
    results: list[Result] = []
    about = _about(quick, seed)  # before the drills: the commit may be another one by their end
    try:
        _hold_all(drills, (quick, seed, stop), results)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        if file is not None:
            _save(file, about, results)
    raise SystemExit(0 if all(result.has_passed for result in results) else 1)


def _list(drills: Sequence[Drill]) -> None:
    click.echo("\n".join(f"{drill.name:16} {drill.what}\n{'':16} bar: {drill.bar}" for drill in drills))
    click.echo(_HOW_TO, err=True)


def _hold_all(drills: Sequence[Drill], form: tuple[bool, int, Stop], results: list[Result]) -> None:
    is_quick, seed, stop = form
    how_long = "seconds each" if is_quick else "minutes each, the soak 30; run nothing else, some bars are times"
    click.echo(f"{', '.join(drill.name for drill in drills)}: {how_long}. Ctrl-C ends them.", err=True)
    click.echo(table.header())
    for drill in drills:
        with tqdm(total=100, desc=drill.name, bar_format=_BAR, disable=None, leave=False) as bar:
            result = hold(drill, Stage(is_quick, seed, bar, stop))
        results.append(result)
        click.echo(table.rows(result))


def _about(is_quick: bool, seed: int) -> dict[str, Any]:
    return {
        "command": " ".join(["miniserve", *sys.argv[1:]]),
        "commit": git_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0))},
        "form": "quick" if is_quick else "full",
        "seed": seed,
    }


def _save(path: Path, about: dict[str, Any], results: Sequence[Result]) -> None:
    document = {**about, "drills": [result.document() for result in results]}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
