"""`miniserve calibrate`: measures what requests cost on this machine, for `miniserve plan`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click
from tqdm import tqdm

from ops.bench.system import serving
from ops.load import prompts
from ops.load.arrivals import ClosedLoop
from ops.options import NewFile, option
from ops.plan import costs, fit
from ops.plan.costs import Calibration, StageCost
from ops.plan.fit import Iteration, MeasuredLoad
from ops.plan.measuring import QUIET_PERCENT, SLOTS, LoadPlan, MeasuredSystem, measure_iterations, wait_until_quiet
from ops.plan.mix import mix_of
from ops.plan.service import Deployment, Outcome, Service
from ops.provenance import cpu_name, git_commit
from ops.tables import table

CLIENTS = (1, 8, 64)  # each with one sentence a request
_MANY = len(CLIENTS) - 1  # the load with the most clients
_TEXT_CLIENTS, _TEXT_SENTENCES = 16, 4
_NUM_TEXTS = 400
_ENGINE_S, _LOAD_S = 0.8, 2.5
_ROUNDS = 4  # of stage costs and numbers of wakes, which depend on each other
_SIMULATED = 1500  # requests of a load
_NUM_HOPS = 6  # of a request: client, API, Redis, worker, and back


@dataclass(frozen=True, slots=True)
class Measured:
    """All that a calibration is computed from."""

    iterations: Sequence[Iteration]
    loads: Sequence[MeasuredLoad]
    cores: float


def measure(seed: int, scale: float) -> Measured:
    """Some twenty seconds, with a bar. Raises RuntimeError where the system does not start."""
    sentences = prompts.load(None, seed)[:_NUM_TEXTS]
    texts = [" ".join(sentences[at : at + _TEXT_SENTENCES]) for at in range(0, _NUM_TEXTS, _TEXT_SENTENCES)]
    single = mix_of(sentences)
    plans = [LoadPlan(clients, sentences, single) for clients in CLIENTS]
    plans.append(LoadPlan(_TEXT_CLIENTS, texts, mix_of(texts)))
    iterations: list[Iteration] = []
    loads = []
    with tqdm(total=len(SLOTS) + len(plans) + 1, desc="calibrate", unit="step", leave=False) as bar:
        for some in measure_iterations(sentences, _ENGINE_S * scale, seed):
            iterations += some
            bar.update()
        with serving(()) as up:
            system = MeasuredSystem(up)
            system.warm_up(sentences, scale)
            bar.update()
            for plan in plans:
                loads.append(system.measure(plan, _LOAD_S * scale))
                bar.update()
    return Measured(iterations, loads, len(os.sched_getaffinity(0)))


def calibration_of(measured: Measured) -> Calibration:
    """The costs with which the calculation does what was measured."""
    forward = fit.fit_forward(measured.iterations)
    loads = measured.loads
    first = {name: StageCost(0.0, loads[_MANY].cpu_s[name], 0.0) for name in fit.STAGES}
    found = Calibration(
        version=costs.VERSION, machine=cpu_name(), commit=git_commit(), date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        cores=measured.cores, forward=forward, worker=fit.fit_worker(forward, loads), api=first["api"],
        redis=first["redis"], client=first["client"], hop_s=0.0,
    )  # fmt: skip
    for _ in range(_ROUNDS):
        outcomes = [_simulated(found, load) for load in loads]
        stages = {
            name: fit.fit_stage(name, loads, [outcome.wakes[name] for outcome in outcomes]) for name in fit.STAGES
        }
        found = replace(found, api=stages["api"], redis=stages["redis"], client=stages["client"])
    found = replace(found, hop_s=_hop_s(found, loads[0]))
    return replace(found, cores=_cores(found, measured))


def _cores(found: Calibration, measured: Measured) -> float:
    """As many as many clients got: fewer than there are where others run, or where a core sleeps that has work."""
    load, cores = measured.loads[_MANY], found.cores
    for _ in range(2):  # fewer cores make larger batches, which need less of them
        computed = sum(_simulated(replace(found, cores=cores), load).busy.values())
        cores *= min(1.0, load.used_cores / computed)
    return cores


def _simulated(found: Calibration, load: MeasuredLoad) -> Outcome:
    deployment = Deployment(cores=found.cores, has_clients=True)
    return Service(deployment, found, load.mix).run(ClosedLoop(load.clients), _SIMULATED)


def _hop_s(found: Calibration, alone: MeasuredLoad) -> float:
    """With one client nothing waits for anything: what its mean latency has beyond all work is the way."""
    computed_s = 1 / _simulated(found, alone).throughput_per_s
    return max(0.0, 1 / alone.throughput_per_s - computed_s) / _NUM_HOPS


def check(found: Calibration, measured: Measured) -> list[tuple[MeasuredLoad, Outcome]]:
    """Each load as it was measured, and as the calculation has it now."""
    return [(load, _simulated(found, load)) for load in measured.loads]


def lines(found: Calibration, measured: Measured) -> list[str]:
    """For people: each load as it was measured and as it is computed. The costs are in the file."""
    loads = [
        (load.clients, f"{load.sentences:.1f}", round(load.throughput_per_s), round(computed.throughput_per_s),
         *(f"{1e3 * s:.2f}" for s in (load.p50_s, computed.quantile_s(0.5), load.p95_s, computed.quantile_s(0.95))))
        for load, computed in check(found, measured)
    ]  # fmt: skip
    headings = (">clients", ">sentences", ">measured/s", ">computed/s", ">p50 ms", ">computed", ">p95 ms", ">computed")
    return [f"{found.machine}: {found.cores:.2g} of {measured.cores} cores", table(headings, loads)]


@click.command()
@option("--save", type=NewFile(), default=costs.DEFAULT_FILE, show_default=True)
@option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@option("--quick", is_flag=True)
def calibrate(save: Path, seed: int, quick: bool) -> None:
    """Measure what requests cost on this machine, for `miniserve plan`.

    Runs the engine alone, and then a system of its own on free ports, for some twenty seconds. Run nothing else
    meanwhile. The file has the costs of an iteration by what it computes, and of a request in API, Redis and worker.
    """
    others = wait_until_quiet()
    try:
        measured = measure(seed, 0.2 if quick else 1.0)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    found = calibration_of(measured)
    costs.write(save, found)
    click.echo("\n".join([*lines(found, measured), str(save)]))
    if others > QUIET_PERCENT:
        problem = f"other programs used {others:.0f} % of the cores, the limit is {QUIET_PERCENT:g} %"
        click.echo(f"{problem}: the costs are doubtful; end them and calibrate again", err=True)
