"""The command `miniserve plan`: sizes a deployment by calculation."""

from __future__ import annotations

import csv
import json as json_format
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ops.load import prompts as shipped
from ops.options import RangedType, option, with_settings
from ops.plan import costs, report
from ops.plan.costs import DEFAULT_FILE, Calibration
from ops.plan.mix import Mix, mix_of, servable
from ops.plan.sizing import Goal, GoalError, Size, Sizer
from scheduler.settings import Range, Settings

_NUM_TEXTS = 600
_MOST_HOURS = 168
_NUM_REQUESTS, _HOUR_REQUESTS = 6000, 3000  # served for each size that is tried
_QUICK = 0.1


def _check_figure(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Before the calculation, which takes a while."""
    if path is not None and path.suffix != ".png":
        raise click.BadParameter(f"{path} has no name of a PNG file; take {path.with_suffix('.png')}")
    if path is not None and not path.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}")
    return path


@click.command()
@option("--rate", type=RangedType(float, Range(0.01, 100_000)), required=True)
@option("--p95", type=RangedType(float, Range(1, 600_000)), required=True,
        help="Goal: 95 of 100 requests are answered within so many ms.")  # fmt: skip
@option("--prompts", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File with one text a line, as your clients send them, instead of the 1,200 that ship.")  # fmt: skip
@option("--hours", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="CSV with the columns hour,requests_per_s: also sizes each hour, at most a week of them.")  # fmt: skip
@option("--cores", type=click.IntRange(1, 4096), show_default="one for each process",
        help="Cores that all processes share, as with `miniserve up`.")  # fmt: skip
@option("--roles", is_flag=True, help="Also size two pools, of workers that read prompts and workers that decode.")
@option("--calibration", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        show_default=f"{DEFAULT_FILE} if there is one, else the one that ships",
        help="File that `miniserve calibrate` wrote.")  # fmt: skip
@option("--figure", type=click.Path(dir_okay=False, writable=True, path_type=Path), callback=_check_figure,
        help="PNG file for p95 by the number of workers and API processes.")  # fmt: skip
@option("--json", is_flag=True)
@option("--quick", is_flag=True)
@with_settings(
    "mode", "max_batch", "max_wait_ms", "kv_budget_tokens", "max_slots", "max_iteration_tokens", "max_stall_ms"
)
def plan(settings: Settings, rate: float, p95: float, figure: Path | None, json: bool, **asked: Any) -> None:
    """Size a deployment: workers and API processes for --rate requests per second.

    Serves the load on a virtual clock, with the batching policy that serves and the costs of `miniserve calibrate`, and
    looks for the fewest processes that keep --p95. Nothing is started. docs/scale.md says how far to trust it.
    """
    if not settings.uses_queue:
        raise click.UsageError(f"--mode {settings.mode} has no workers to size; take continuous or static")
    if asked["roles"] and settings.mode != "continuous":
        raise click.UsageError(f"--roles is for --mode continuous, not {settings.mode}")
    calibration = _calibration(asked["calibration"])
    mix, goal = _mix(asked["prompts"]), Goal(rate, p95 / 1e3)
    hours = _hours(asked["hours"]) if asked["hours"] else []
    with tqdm(desc="plan", unit="size", leave=False, disable=None) as bar:
        number = round((_QUICK if asked["quick"] else 1.0) * _NUM_REQUESTS)
        sizer = Sizer(calibration, mix, asked["cores"] or inf, settings, number, bar.update)
        try:
            found = report.report(sizer, goal)
        except GoalError as error:
            raise click.ClickException(str(error)) from None
        pools = report.pools_of(sizer, goal, found) if asked["roles"] else None
        sizes = _sizes_by_hour(sizer, hours, goal.p95_s)
        if figure is not None:
            _draw(figure, sizer, found)
    if json:
        by_hour = [{"hour": hour, "requests_per_s": per_s, "size": size} for (hour, per_s), size in sizes]
        click.echo(json_format.dumps(found.document() | {"hours": by_hour, "pools": pools}, default=asdict, indent=2))
        return
    click.echo(f"  costs: {calibration.machine}, {calibration.date}, commit {calibration.commit}")
    about_pools = [report.pools_line(pools, found)] if asked["roles"] else []
    click.echo("\n".join([*report.lines(found), *about_pools, *_hour_lines(sizes)]))


def _calibration(path: Path | None) -> Calibration:
    path = path or (DEFAULT_FILE if DEFAULT_FILE.exists() else costs.SHIPPED)
    try:
        found = costs.read(path)
    except costs.CostsError as error:
        raise click.BadParameter(str(error), param_hint="--calibration") from None
    if path == costs.SHIPPED:
        click.echo("these are the costs that ship; `miniserve calibrate` measures those of this machine", err=True)
    return found


def _mix(path: Path | None) -> Mix:
    try:
        texts = shipped.load(path, 0)
    except (ValueError, OSError) as error:
        raise click.BadParameter(str(error), param_hint="--prompts") from None
    texts, num_refused = servable(texts[:_NUM_TEXTS])
    if not texts:
        raise click.BadParameter(f"{path} holds no text that the server takes", param_hint="--prompts")
    if num_refused:
        click.echo(f"{num_refused} texts are left out, for the server would refuse them", err=True)
    return mix_of(texts)


def _hours(path: Path) -> list[tuple[str, float]]:
    """Raises BadParameter, which names the line."""
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (ValueError, csv.Error) as error:
        raise click.BadParameter(f"{path} is no CSV file: {error}", param_hint="--hours") from None
    if rows and [cell.strip() for cell in rows[0]] == ["hour", "requests_per_s"]:
        rows = rows[1:]
    if not 1 <= len(rows) <= _MOST_HOURS:
        raise click.BadParameter(f"{path} has {len(rows)} hours; it takes 1 to {_MOST_HOURS}", param_hint="--hours")
    return [_hour(path, number, row) for number, row in enumerate(rows, 1)]


def _hour(path: Path, number: int, row: Sequence[str]) -> tuple[str, float]:
    try:
        name, rate = row[0].strip(), float(row[1])
    except (IndexError, ValueError):
        rate = -1.0
    if len(row) != 2 or not 0 <= rate <= 100_000:
        problem = f"{path}, hour {number}: {','.join(row)!r} is not allowed; it takes NAME,RATE with a rate to 100,000"
        raise click.BadParameter(problem, param_hint="--hours")
    return name, rate


def _sizes_by_hour(sizer: Sizer, hours: Sequence[tuple[str, float]], p95_s: float) -> list[tuple[Any, Size | None]]:
    """None where no size with one Redis keeps the goal. An hour without requests has one process of each kind."""
    quick = replace(sizer, num_requests=min(_HOUR_REQUESTS, sizer.num_requests), _known={})
    return [(hour, _smallest(quick, Goal(max(hour[1], 0.01), p95_s))) for hour in hours]


def _smallest(sizer: Sizer, goal: Goal) -> Size | None:
    try:
        return sizer.smallest(goal)
    except GoalError:
        return None


def _hour_lines(sizes: Sequence[tuple[Any, Size | None]]) -> list[str]:
    if not sizes:
        return []
    told = ["", "  hour        requests/s   size"]
    told += [
        f"  {hour:10} {rate:11,g}   {report.named(size) if size else 'no size with one Redis keeps the goal'}"
        for (hour, rate), size in sizes
    ]
    workers = [size.workers for _, size in sizes if size]
    if workers:
        always = len(workers) * max(workers)
        told.append(f"  {sum(workers)} worker hours by the hour, {always} with the most of them all the time")
    return told


def _draw(path: Path, sizer: Sizer, found: report.Report) -> None:
    try:
        from ops.plan.figure import draw
    except ModuleNotFoundError:
        raise click.ClickException("the figure needs matplotlib: pip install '.[plots]'") from None
    draw(path, sizer, found)
