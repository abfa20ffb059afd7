"""The command `python -m ops.drills.alert_drill`: a table, the checks, a file."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from ops.drills import table
from ops.drills.alert_drill.drill import DRILL
from ops.drills.drill import Result, Stage, hold
from ops.options import option
from ops.provenance import cpu_name, git_commit
from worker.model.blas import configure_blas

_BAR = "{desc} {percentage:3.0f} % |{bar:20}| {elapsed}{postfix}"
_COLUMNS = "from s  offered  answered   p95 ms  utilization  predicted ms  measured ms  alerts"


@click.command()
@option("--quick", is_flag=True, help="A minute instead of four. Its figures prove little.")
@option("--json", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
        help="JSON file for the figures.")  # fmt: skip
@option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Of the load.")
def main(quick: bool, json: Path | None, seed: int) -> None:
    """Raise the load of a slowed system from 0.3 to 1.3 of its capacity, lower it, then kill all workers.

    A real monitor watches; the table says for each five seconds what was offered, what was predicted and measured, and
    which alert was raised (+) or cleared (-). Leave the machine alone meanwhile.

    Exit status 0 only if every bar is met.
    """
    configure_blas(os.environ)
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell's background jobs are born deaf to the second
        signal.signal(number, _stop)
    with tqdm(total=100, desc=DRILL.name, bar_format=_BAR, disable=None, leave=False) as bar:
        result = hold(DRILL, Stage(quick, seed, bar))
    click.echo("\n".join(lines(result)))
    if json is not None:
        _save(json, quick, seed, result)
    raise SystemExit(0 if result.has_passed else 1)


def _stop(number: int, frame: object) -> None:
    """Ends everything that was started."""
    raise KeyboardInterrupt


def lines(result: Result) -> list[str]:
    """The table of the course, the waits by load, every check."""
    details = result.details
    found = [_COLUMNS, *map(_row, details.get("rows", ()))] if details.get("rows") else []
    for band, waits in details.get("waits", {}).items():
        found.append(f"waits at {band} of capacity: {waits}")
    found += [f"{check.what}: {check.value}, asked {check.bar}{'' if check.is_met else '  MISSED'}"
              for check in result.checks]  # fmt: skip
    return [*found, table.header(), table.rows(result)]


def _row(row: dict[str, Any]) -> str:
    p95, used = row["p95_ms"], row["utilization"]
    return (
        f"{row['from_s']:6.0f}  {row['offered_share']:7.2f}  {row['answered']:8,}"
        f"  {'-' if p95 is None else f'{p95:,.0f}':>7}  {'-' if used is None else f'{used:.2f}':>11}"
        f"  {row['predicted_wait_ms']:12,.1f}  {row['measured_wait_ms']:11,.1f}  {' '.join(row['alerts'])}"
    )


def _save(path: Path, is_quick: bool, seed: int, result: Result) -> None:
    about = {
        "command": " ".join(["python -m ops.drills.alert_drill", *sys.argv[1:]]),
        "commit": git_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0))},
        "form": "quick" if is_quick else "full",
        "seed": seed,
    }
    path.write_text(json.dumps({**about, "drills": [result.document()]}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
