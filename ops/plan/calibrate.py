"""`miniserve calibrate`: measures what requests cost on this machine, for `miniserve plan`.

A whole system under three short loads. What its processes use is CPU and not time: time holds what others took of the
core.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import numpy as np
import psutil

from ops.bench.system import System, cpu_us, serving
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.measurements import Measurements
from ops.load.measurements import measure as measure_traffic
from ops.load.traffic import MEASURED, Traffic
from ops.observe.scrape import scrape
from ops.options import NewFile, option
from ops.plan import costs
from ops.plan.costs import Calibration, StageCost, WorkerCost
from ops.provenance import cpu_name, git_commit
from ops.tables import table
from scheduler.observations import DECODE_WORK

LOADS = ((1, 1), (64, 1), (16, 4))  # clients, and sentences that each sends at once
_STAGES = ("api", "redis", "worker")
_NUM_TEXTS = 400
_WARM_UP_S, _LOAD_S = 1.5, 2.5
_REPORTED_S = 0.6  # until the processes have reported what they counted
_QUIET_PERCENT, _LOOK_S = 6.0, 2.0
_NUM_HOPS = 4  # of a request: API, Redis, worker, and back


@dataclass(frozen=True, slots=True)
class Measured:
    """One load. All from `sentences` on is of a request, but for the quantiles of its time."""

    clients: int
    per_s: float
    p50_s: float
    p95_s: float
    sentences: float
    cpu_s: dict[str, float]  # by process
    iterations: float  # of the worker
    units: float  # that these computed: prompt tokens, and DECODE_WORK for each decode step


def measure() -> list[Measured]:
    """Some fifteen seconds. Raises RuntimeError where the system does not start or answers nothing."""
    sentences = prompts.load(None, 0)[:_NUM_TEXTS]
    with serving(()) as system:
        _put(system, max(LOADS)[0], sentences, _WARM_UP_S)
        return [
            _measure(system, clients, [" ".join(sentences[at : at + size]) for at in range(0, _NUM_TEXTS, size)])
            for clients, size in LOADS
        ]


def _put(system: System, clients: int, texts: Sequence[str], seconds: float) -> Measurements:
    limits = Limits(duration_s=seconds)
    return measure_traffic(Traffic([system.url], prompts.questions(texts), ClosedLoop(clients), limits, MEASURED))


def _measure(system: System, clients: int, texts: Sequence[str]) -> Measured:
    sums, before_us = _sums(system), cpu_us(system.pid)
    found, after_us = _put(system, clients, texts, _LOAD_S), cpu_us(system.pid)
    if not (number := found.statuses[200]):
        raise RuntimeError(f"no request was answered: {dict(found.problems + found.failures)}")
    time.sleep(_REPORTED_S)
    p50_s, p95_s = np.percentile(found.latencies_s, (50, 95)).tolist()
    cpu_s = {name: (after_us[name] - before_us[name]) / 1e6 / number for name in _STAGES}
    sentences, prompt, output, iterations = ((_sums(system) - sums) / number).tolist()
    units = prompt + DECODE_WORK * (output - sentences)
    return Measured(clients, number / found.elapsed_s, p50_s, p95_s, sentences, cpu_s, iterations, units)


def _sums(system: System) -> np.ndarray:
    """What the worker has counted: sentences, prompt tokens, output tokens, iterations."""
    seen = scrape(system.url)
    counters = [
        seen.total(f"miniserve_{name}_total") for name in ("request_success", "prompt_tokens", "generation_tokens")
    ]
    return np.array([*counters, seen.histogram("miniserve_iteration_tokens").count])


def calibration_of(loads: Sequence[Measured]) -> Calibration:
    """API and Redis by the loads with many clients, where no process sleeps much."""
    alone, *many = loads
    rows, sentences = [(load.iterations, load.units) for load in loads], [(1.0, load.sentences) for load in many]
    worker = WorkerCost(*least_squares(rows, [load.cpu_s["worker"] for load in loads]))
    api, redis = (
        StageCost(*least_squares(sentences, [load.cpu_s[name] for load in many])) for name in ("api", "redis")
    )
    # With one client nothing waits for anything: what its mean latency has beyond all work is the way.
    work_s = alone.iterations * worker.iteration_s + alone.units * worker.unit_s
    work_s += api.of_request(alone.sentences) + redis.of_request(alone.sentences)
    return Calibration(
        version=costs.VERSION, machine=cpu_name(), commit=git_commit(), date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        worker=worker, api=api, redis=redis, hop_s=max(0.0, 1 / alone.per_s - work_s) / _NUM_HOPS,
    )  # fmt: skip


def least_squares(rows: Sequence[tuple[float, float]], targets: Sequence[float]) -> list[float]:
    """Two unknowns, of which none is negative: the best by relative errors, with one of them 0 if need be."""
    scaled = np.array(rows) / np.maximum(targets, 1e-6)[:, None]
    found = np.linalg.lstsq(scaled, np.ones(len(scaled)), rcond=None)[0]
    if found.min() < 0:
        alone = np.diag(scaled.sum(axis=0) / (scaled**2).sum(axis=0))
        found = alone[np.argmin(((scaled @ alone.T - 1) ** 2).sum(axis=0))]
    return [float(cost) for cost in found]


@click.command()
@option("--save", type=NewFile(), default=costs.DEFAULT_FILE, show_default=True)
def calibrate(save: Path) -> None:
    """Measure what requests cost on this machine, for `miniserve plan`.

    Runs a system of its own on free ports, for some fifteen seconds. Run nothing else meanwhile. The file has the costs
    of an iteration by what it computes, and of a request in API and Redis.
    """
    click.echo("this takes some fifteen seconds ...", err=True)
    others = psutil.cpu_percent(interval=_LOOK_S)
    try:
        loads = measure()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    costs.write(save, calibration_of(loads))
    rows = [
        (load.clients, f"{load.sentences:.1f}", f"{load.per_s:,.0f}", f"{1e3 * load.p50_s:.2f}",
         f"{1e3 * load.p95_s:.2f}", *(f"{1e6 * load.cpu_s[name]:,.0f}" for name in _STAGES))
        for load in loads
    ]  # fmt: skip
    cpu = (f">{name} us" for name in _STAGES)
    click.echo(table((">clients", ">sentences", ">requests/s", ">p50 ms", ">p95 ms", *cpu), rows))
    click.echo(save)
    if others > _QUIET_PERCENT:
        problem = f"other programs used {others:.0f} % of the cores, the limit is {_QUIET_PERCENT:g} %"
        click.echo(f"{problem}: the costs are doubtful; end them and calibrate again", err=True)
