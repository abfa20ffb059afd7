"""Is the predicted wait the one that comes? `python -m ops.drills.wait_drill --json waits.json`

A system of its own with an engine slowed to about 70 corrections a second gets a Poisson load of 0.5, 0.8 and 0.95 of
what it can do, five minutes each. Once a second /metrics is read: the mean of `miniserve_predicted_wait_seconds` over
the time is compared with the mean of `miniserve_request_queue_time_seconds`, which workers measure. Under 2 ms of
difference counts as equal. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
from tqdm import tqdm

from ops.drills.drill import Stage
from ops.drills.random_model import calibrate
from ops.drills.slow_worker import command
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.drills.traffic import Habits, Traffic
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, ClosedLoop, Limits, OpenLoop
from ops.observe.scrape import Scrape, ScrapeError, scrape
from ops.provenance import git_commit

_PER_S = 100.0
_CLIENTS = 128
_FLOOR_S = 0.002
_BARS = {0.5: 20.0, 0.8: 20.0, 0.95: 35.0}  # percent
_SETTLING_S = 15.0  # a load that has just begun has no steady state yet


@dataclass(frozen=True, slots=True)
class Row:
    """One load."""

    load: float
    offered_per_s: float
    measured_s: float
    predicted_s: float
    utilization: float
    residual: float
    num_waits: int
    bar_percent: float

    @property
    def off_percent(self) -> float:
        return 100 * abs(self.predicted_s - self.measured_s) / self.measured_s if self.measured_s > 0 else 0.0

    @property
    def is_met(self) -> bool:
        return abs(self.predicted_s - self.measured_s) <= _FLOOR_S or self.off_percent <= self.bar_percent


def measure_at(stage: Stage, system: System, load: float, offered_per_s: float) -> Row:
    """Send at this rate and watch."""
    seconds = stage.size(300.0, 10.0) + _SETTLING_S
    arrivals = OpenLoop(offered_per_s, stage.seed, MAX_OPEN_CONNECTIONS)
    limits = Limits(duration_s=seconds)
    looks: list[Scrape] = []
    with Traffic(system.urls, stage.questions(), arrivals, limits, Habits(retries=False)) as traffic:
        started_s = time.monotonic()
        while (elapsed_s := time.monotonic() - started_s) < seconds:
            stage.show(elapsed_s / seconds, f"load {load:g}, {len(traffic.ended):,} answered")
            if elapsed_s >= _SETTLING_S:
                looks += _look(system.urls[0])
            system.pause(1.0)
        while not traffic.is_over:
            system.pause(0.1)
    if len(looks) < 2:
        raise click.ClickException(f"{system.urls[0]}/metrics did not answer at a load of {load:g}: no figures")
    waits = (
        looks[-1]
        .histogram("miniserve_request_queue_time_seconds")
        .since(looks[0].histogram("miniserve_request_queue_time_seconds"))
    )
    return Row(
        load=load,
        offered_per_s=offered_per_s,
        measured_s=waits.mean or 0.0,
        predicted_s=_mean(looks, "miniserve_predicted_wait_seconds"),
        utilization=_mean(looks, "miniserve_utilization"),
        residual=_mean(looks, "miniserve_littles_law_residual"),
        num_waits=int(waits.count),
        bar_percent=_BARS[load],
    )


def _look(url: str) -> list[Scrape]:
    try:
        return [scrape(url)]
    except ScrapeError:
        return []


def _mean(looks: list[Scrape], name: str) -> float:
    return statistics.fmean(look.value(name) or 0.0 for look in looks)


@click.command()
@click.option("--quick", is_flag=True, help="Seconds instead of minutes; a look at the drill, not at the figures.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="File for the figures.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 8), help="Workers of the system.")
def main(quick: bool, file: Path | None, workers: int) -> None:
    """Compare the predicted wait with the measured one at three loads."""
    settings = replace(DRILL_SETTINGS, result_ttl_s=60)
    with tqdm(total=100, bar_format="{percentage:3.0f}% |{bar}| {postfix}") as bar:
        stage = Stage(is_quick=quick, seed=1, bar=bar)
        shape = Shape(num_workers=workers, settings=settings, worker_command=command(calibrate(_PER_S, settings)))
        with stage.system(shape) as system:
            seconds = stage.size(20.0, 3.0)
            closed = stage.load(system, stage.questions(), ClosedLoop(_CLIENTS * workers), seconds)
            peak_per_s = len(closed.ended) / (closed.ended[-1].ended_s - closed.ended[0].due_s)
            rows = [measure_at(stage, system, load, load * peak_per_s) for load in _BARS]
    click.echo(f"peak {peak_per_s:.1f}/s, {workers} worker(s)")
    click.echo("load  offered/s  measured ms  predicted ms  off %  bar %  met  utilization  residual")
    for row in rows:
        click.echo(
            f"{row.load:4.2f}  {row.offered_per_s:9.1f}  {1e3 * row.measured_s:11.1f}  {1e3 * row.predicted_s:12.1f}  "
            f"{row.off_percent:5.1f}  {row.bar_percent:5.0f}  {'yes' if row.is_met else 'NO':>3}  "
            f"{row.utilization:11.3f}  {row.residual:8.3f}"
        )
    if file:
        figures = [asdict(row) | {"off_percent": row.off_percent, "is_met": row.is_met} for row in rows]
        file.write_text(
            json.dumps({"commit": git_commit(), "peak_per_s": peak_per_s, "loads": figures}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
