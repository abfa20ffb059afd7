"""The command `miniserve plan`: sizes a deployment by calculation."""

from __future__ import annotations

import json as json_format
from math import inf
from pathlib import Path
from typing import Any

import click

from ops.load import prompts as shipped
from ops.options import number, option, with_settings
from ops.plan import costs, report
from ops.plan.costs import DEFAULT_FILE
from ops.plan.mix import Mix, mix_of
from ops.plan.sizing import Goal, Sizer
from scheduler.settings import Settings

_NUM_TEXTS = 600


@click.command()
@option("--rate", type=number(float, 0.01, 100_000), required=True)
@option("--p95", type=number(float, 1, 600_000), required=True,
        help="Goal: 95 of 100 requests are answered within so many ms.")  # fmt: skip
@option("--prompts", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File with one text a line, as your clients send them, instead of the 1,200 that ship.")  # fmt: skip
@option("--cores", type=number(int, 1, 4096), show_default="one for each process",
        help="Cores that all processes share, as with `miniserve up`.")  # fmt: skip
@option("--calibration", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        show_default=f"{DEFAULT_FILE} if there is one, else the one that ships",
        help="File that `miniserve calibrate` wrote.")  # fmt: skip
@option("--json", is_flag=True)
@with_settings(
    "mode", "max_batch", "max_wait_ms", "kv_budget_tokens", "max_slots", "max_iteration_tokens", "max_stall_ms"
)
def plan(settings: Settings, rate: float, p95: float, json: bool, **asked: Any) -> None:
    """Size a deployment: workers and API processes for --rate requests per second.

    Serves the load on a virtual clock, with the batching policy that serves and the costs of `miniserve calibrate`, and
    looks for the fewest processes that keep --p95. Nothing is started. docs/capacity.md says how far to trust it.
    """
    if not settings.uses_queue:
        raise click.UsageError(f"--mode {settings.mode} has no workers to size; take continuous or static")
    calibration = costs.read(asked["calibration"] or (DEFAULT_FILE if DEFAULT_FILE.exists() else costs.SHIPPED))
    mix, goal = _mix(asked["prompts"]), Goal(rate, p95 / 1e3)
    found = report.report(Sizer(calibration, mix, asked["cores"] or inf, settings), goal)
    if json:
        click.echo(json_format.dumps(found, indent=2))
        return
    click.echo(f"costs: {calibration.machine}, {calibration.date}, commit {calibration.commit}")
    click.echo(report.words_of(found))


def _mix(path: Path | None) -> Mix:
    texts = shipped.load(path, 0)[:_NUM_TEXTS]
    mix = mix_of(texts)
    if not mix.texts:
        raise click.UsageError(f"{path} holds no text that the server takes")
    if num_refused := len(texts) - len(mix.texts):
        click.echo(f"{num_refused} texts are left out, for the server would refuse them", err=True)
    return mix
