"""`miniserve calibrate`: measures what requests cost on this machine, for `miniserve plan`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click
import psutil

from ops.bench.system import serving
from ops.load import prompts
from ops.load.arrivals import ClosedLoop
from ops.options import NewFile, option
from ops.plan import costs, fit
from ops.plan.costs import Calibration
from ops.plan.fit import MeasuredLoad
from ops.plan.measuring import MeasuredSystem
from ops.plan.mix import mix_of
from ops.plan.service import Deployment, Outcome, Service
from ops.provenance import cpu_name, git_commit
from ops.tables import table

CLIENTS = (1, 8, 64)  # each with one sentence a request
_MANY = len(CLIENTS) - 1  # from this load on no process sleeps much
_TEXT_CLIENTS, _TEXT_SENTENCES = 16, 4
_NUM_TEXTS = 400
_LOAD_S = 2.5
_QUIET_PERCENT, _LOOK_S = 6.0, 2.0
_SIMULATED = 1500  # requests of a load
_NUM_HOPS = 6  # of a request: client, API, Redis, worker, and back


@dataclass(frozen=True, slots=True)
class Measured:
    """All that a calibration is computed from."""

    loads: Sequence[MeasuredLoad]
    cores: float


def measure() -> Measured:
    """Some twenty seconds. Raises RuntimeError where the system does not start."""
    sentences = prompts.load(None, 0)[:_NUM_TEXTS]
    texts = [" ".join(sentences[at : at + _TEXT_SENTENCES]) for at in range(0, _NUM_TEXTS, _TEXT_SENTENCES)]
    plans = [*((clients, sentences) for clients in CLIENTS), (_TEXT_CLIENTS, texts)]
    mixes = [mix_of(some) for _, some in plans]
    with serving(()) as up:
        system = MeasuredSystem(up)
        system.warm_up(sentences)
        loads = [system.measure(*plan, mix, _LOAD_S) for plan, mix in zip(plans, mixes, strict=True)]
    return Measured(loads, len(os.sched_getaffinity(0)))


def calibration_of(measured: Measured) -> Calibration:
    """The costs with which the calculation does what was measured."""
    loads = measured.loads
    stages = {name: fit.fit_stage(name, loads[_MANY:]) for name in fit.STAGES}
    found = Calibration(
        version=costs.VERSION, machine=cpu_name(), commit=git_commit(), date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        cores=measured.cores, worker=fit.fit_worker(loads), hop_s=0.0, **stages,
    )  # fmt: skip
    # With one client nothing waits for anything: what its mean latency has beyond all work is the way.
    beyond_s = 1 / loads[0].throughput_per_s - 1 / simulated(found, loads[0]).throughput_per_s
    return replace(found, hop_s=max(0.0, beyond_s) / _NUM_HOPS)


def simulated(found: Calibration, load: MeasuredLoad) -> Outcome:
    """A load that was measured, as the calculation has it."""
    deployment = Deployment(cores=found.cores, has_clients=True)
    return Service(deployment, found, load.mix).run(ClosedLoop(load.clients), _SIMULATED)


def lines(found: Calibration, measured: Measured) -> list[str]:
    """For people: each load as it was measured and as it is computed. The costs are in the file."""
    loads = []
    for load in measured.loads:
        computed = simulated(found, load)
        times_s = (load.p50_s, computed.quantile_s(0.5), load.p95_s, computed.quantile_s(0.95))
        rates = (round(load.throughput_per_s), round(computed.throughput_per_s))
        loads.append((load.clients, f"{load.sentences:.1f}", *rates, *(f"{1e3 * s:.2f}" for s in times_s)))
    headings = (">clients", ">sentences", ">measured/s", ">computed/s", ">p50 ms", ">computed", ">p95 ms", ">computed")
    return [f"{found.machine}, {measured.cores} cores", table(headings, loads)]


@click.command()
@option("--save", type=NewFile(), default=costs.DEFAULT_FILE, show_default=True)
def calibrate(save: Path) -> None:
    """Measure what requests cost on this machine, for `miniserve plan`.

    Runs a system of its own on free ports, for some twenty seconds. Run nothing else meanwhile. The file has the costs
    of an iteration by what it computes, and of a request in API and Redis.
    """
    click.echo("this takes some twenty seconds ...", err=True)
    others = psutil.cpu_percent(interval=_LOOK_S)
    try:
        measured = measure()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    found = calibration_of(measured)
    costs.write(save, found)
    click.echo("\n".join([*lines(found, measured), str(save)]))
    if others > _QUIET_PERCENT:
        problem = f"other programs used {others:.0f} % of the cores, the limit is {_QUIET_PERCENT:g} %"
        click.echo(f"{problem}: the costs are doubtful; end them and calibrate again", err=True)
