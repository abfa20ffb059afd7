"""`miniserve calibrate`: measures what requests cost on this machine, for `miniserve plan`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import click
from tqdm import tqdm

from ops.load import prompts
from ops.options import option
from ops.plan import costs, fit
from ops.plan.costs import Calibration, HandoffCost, RedisUse, StageCost
from ops.plan.fit import Iteration, MeasuredLoad
from ops.plan.measuring import (
    QUIET_PERCENT,
    SLOTS,
    LoadPlan,
    MeasuredSystem,
    measure_handoff,
    measure_iterations,
    measured_system,
    wait_until_quiet,
)
from ops.plan.mix import Mix, mix_of
from ops.plan.service import Deployment, Outcome, Service
from ops.plan.traffic import Clients
from ops.provenance import cpu_name, git_commit
from scheduler.settings import Settings

CLIENTS = (1, 8, 64)  # each with one sentence a request
_MANY = len(CLIENTS) - 1  # the load with the most clients
_TEXT_CLIENTS, _TEXT_SENTENCES = 16, 4
_NUM_STEPS = len(SLOTS) + len(CLIENTS) + 1  # of a measurement: slots of the engine, loads of the system
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
    mixes: Sequence[Mix]  # of each load
    kept_bytes: float
    cores: int
    handoff: HandoffCost


@dataclass(frozen=True, slots=True)
class LoadCheck:
    """A load as it was measured, and as the calculation has it."""

    measured: MeasuredLoad
    computed: Outcome


class Calibrator:
    """The texts that are sent, and their sizes; each call of `measure` measures once."""

    def __init__(self, seed: int) -> None:
        self.sentences = prompts.load(None, seed)[:_NUM_TEXTS]
        starts = range(0, _NUM_TEXTS, _TEXT_SENTENCES)
        texts = [" ".join(self.sentences[at : at + _TEXT_SENTENCES]) for at in starts]
        single, several = mix_of(self.sentences), mix_of(texts)
        self._mixes = [*[single] * len(CLIENTS), several]
        self._plans = [LoadPlan(clients, self.sentences, single.sentences_per_text) for clients in CLIENTS]
        self._plans.append(LoadPlan(_TEXT_CLIENTS, texts, several.sentences_per_text))
        self._handoff = measure_handoff()
        self._seed = seed

    def measure(self, system: MeasuredSystem, scale: float, note_step: Callable[[], object]) -> Measured:
        """Some fifteen seconds times `scale`. `system` has warmed up."""
        iterations: list[Iteration] = []
        for some in measure_iterations(self.sentences, _ENGINE_S * scale, self._seed):
            iterations += some
            note_step()
        loads = []
        for plan in self._plans:
            loads.append(system.measure(plan, _LOAD_S * scale))
            note_step()
        return Measured(iterations, loads, self._mixes, system.kept_bytes(), _num_cores(), self._handoff)


def measure(seed: int, scale: float) -> Measured:
    """Some twenty seconds, with a bar. Raises RuntimeError where the system does not start."""
    with tqdm(total=_NUM_STEPS + 2, desc="calibrate", unit="step", leave=False) as bar:
        bar.set_postfix_str("waits until nothing else runs")
        wait_until_quiet()
        bar.set_postfix_str("")
        calibrator = Calibrator(seed)
        with measured_system(()) as system:
            bar.update()
            system.warm_up(calibrator.sentences, scale)
            bar.update()
            return calibrator.measure(system, scale, bar.update)


def _num_cores() -> int:
    return len(os.sched_getaffinity(0))


def calibration_of(measured: Measured) -> Calibration:
    """The costs with which the calculation does what was measured."""
    forward = fit.fit_forward(measured.iterations)
    loads = measured.loads
    found = Calibration(
        version=costs.VERSION, machine=cpu_name(), commit=git_commit(), date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        cores=measured.cores, forward=forward, worker=fit.fit_worker(forward, loads),
        **{name: StageCost(0.0, loads[-2].cpu_s[name], 0.0) for name in fit.STAGES},
        hop_s=0.0, behind=0.0,
        result_ttl_s=Settings().result_ttl_s,
        redis_use=RedisUse(measured.kept_bytes, loads[0].redis_commands, loads[_MANY].redis_commands),
        handoff=measured.handoff,
    )  # fmt: skip
    for _ in range(_ROUNDS):
        outcomes = [_simulated(found, load, mix) for load, mix in zip(loads, measured.mixes, strict=True)]
        stages = {
            name: fit.fit_stage(name, loads, [outcome.wakes[name] for outcome in outcomes]) for name in fit.STAGES
        }
        found = replace(found, **stages)
    found = _with_slack(found, loads[0], measured.mixes[0])
    return replace(found, cores=_cores(found, measured))


def _cores(found: Calibration, measured: Measured) -> float:
    """As many as many clients got: fewer than there are where others run, or where a core sleeps that has work."""
    load, mix, cores = measured.loads[_MANY], measured.mixes[_MANY], found.cores
    for _ in range(2):  # fewer cores make larger batches, which need less of them
        computed = sum(_simulated(replace(found, cores=cores), load, mix).busy.values())
        cores *= min(1.0, load.used_cores / computed)
    return cores


def _simulated(found: Calibration, load: MeasuredLoad, mix: Mix) -> Outcome:
    deployment = Deployment(cores=found.cores, has_clients=True)
    return Service(deployment, found, mix).run(Clients(load.clients), _SIMULATED)


def _with_slack(found: Calibration, alone: MeasuredLoad, mix: Mix) -> Calibration:
    """With one client nothing waits for anything: what its latency has beyond all work is the way between processes.

    Where it has less, some of the work is done after the message has left. The mean counts, which varies less.
    """
    measured_s, computed_s = 1 / alone.throughput_per_s, _alone_s(found, alone, mix)
    if computed_s <= measured_s:
        return replace(found, hop_s=(measured_s - computed_s) / _NUM_HOPS)
    half_s = _alone_s(replace(found, behind=0.5), alone, mix)
    behind = 0.5 * (computed_s - measured_s) / max(1e-9, computed_s - half_s)
    return replace(found, behind=min(0.9, behind))


def _alone_s(found: Calibration, alone: MeasuredLoad, mix: Mix) -> float:
    return 1 / _simulated(found, alone, mix).throughput_per_s


def check(found: Calibration, measured: Measured) -> list[LoadCheck]:
    """Each load that was measured, and as the calculation has it now."""
    pairs = zip(measured.loads, measured.mixes, strict=True)
    return [LoadCheck(load, _simulated(found, load, mix)) for load, mix in pairs]


def lines(found: Calibration, measured: Measured) -> list[str]:
    """The costs for people, in microseconds."""
    forward, errors = found.forward, fit.relative_errors(found.forward, measured.iterations)
    told = [
        f"  {found.machine}: {found.cores:.2g} of {measured.cores} cores",
        f"  iteration: {_us(forward.fixed_s)} + {_us(forward.prompt_s)} a prompt + "
        f"{_us(forward.prompt_token_s)} a prompt token + {_us(forward.decode_s)} a decode step + "
        f"{1e9 * forward.context_s:.0f} ns a cached token",
        f"    {len(errors):,} iterations, half of them within {median(errors.tolist()):.0%}",
        f"  worker: {_us(found.worker.wake_s)} an iteration, {_us(found.worker.sentence_s)} a sentence besides",
        *(f"  {name}: {_stage_line(getattr(found, name))}" for name in fit.STAGES),
        f"  way between processes: {_us(found.hop_s)}; {found.behind:.0%} of the work behind the message",
        f"  other programs used up to {max(load.others for load in measured.loads):.0%} of the cores meanwhile",
        f"  Redis: {found.redis_use.commands_alone:.0f} commands a request alone, {found.redis_use.commands_busy:.0f} "
        f"among many, {found.redis_use.kept_bytes:,.0f} bytes while its answer is kept",
        "  clients  sentences   measured/s  computed/s   p50 ms  computed   p95 ms  computed",
    ]
    return [*told, *map(_check_line, check(found, measured))]


def _check_line(one: LoadCheck) -> str:
    load, computed = one.measured, one.computed
    return (
        f"  {load.clients:7} {load.sentences:10.1f} {load.throughput_per_s:12,.0f} {computed.throughput_per_s:11,.0f} "
        f"{1e3 * load.p50_s:8.2f} {1e3 * computed.quantile_s(0.5):9.2f} {1e3 * load.p95_s:8.2f} "
        f"{1e3 * computed.quantile_s(0.95):9.2f}"
    )


def _stage_line(stage: StageCost) -> str:
    return f"{_us(stage.request_s)} a request, {_us(stage.sentence_s)} a sentence, {_us(stage.wake_s)} to wake up"


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.1f} us"


@click.command()
@option("--save", type=click.Path(dir_okay=False, writable=True, path_type=Path), default=costs.DEFAULT_FILE,
        show_default=True)  # fmt: skip
@option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
@option("--quick", is_flag=True)
def calibrate(save: Path, seed: int, quick: bool) -> None:
    """Measure what requests cost on this machine, for `miniserve plan`.

    Runs the engine alone, and then a system of its own on free ports, for some twenty seconds. Run nothing else
    meanwhile. The file has the costs of an iteration by what it computes, and of a request in API, Redis and worker.
    """
    if not save.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {save.parent}", param_hint="--save")
    try:
        measured = measure(seed, 0.2 if quick else 1.0)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    found = calibration_of(measured)
    costs.write(save, found)
    click.echo("\n".join([*lines(found, measured), f"  {save}"]))
    if (others := 100 * max(load.others for load in measured.loads)) > QUIET_PERCENT:
        problem = f"other programs used {others:.0f} % of the cores, the limit is {QUIET_PERCENT:g} %"
        click.echo(f"  {problem}: the costs are doubtful; end them and calibrate again", err=True)
