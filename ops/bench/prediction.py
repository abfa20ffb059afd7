"""`plan`: what the calculation of `miniserve plan` predicts, against what a system on this machine does.

A run is one sitting: in several turns a calibration, then open loops at three loads with two kinds of text, and a last
calibration. Machines become faster and slower within seconds, those of a hypervisor by a third. So the turns are short,
and each has the speed of the calibrations around it. Calibrations have closed loops only, and texts of one and of four
sentences. No measured latency of an open loop enters a prediction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import numpy as np
from tqdm import tqdm

from ops.bench.experiment import Plan, Row
from ops.load import prompts
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, OpenLoop
from ops.plan import calibrate
from ops.plan.calibrate import Measured
from ops.plan.costs import Calibration
from ops.plan.measuring import Machine, MeasuredSystem, SteadyLoad, measured_system, wait_until_quiet
from ops.plan.mix import Mix, mix_of
from ops.plan.service import Deployment, Service
from ops.plan.sizing import slower
from ops.plan.traffic import Poisson

CSV = "plan.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
SHARES = (0.3, 0.5, 0.7)  # of what 64 clients in a closed loop get
BARS = {"p50": 0.15, "p95": 0.20}  # for the median error
_TURNS = 4  # of a run
_CALIBRATION = 0.4  # of the time that `miniserve calibrate` takes, in each turn
_LEAD_S, _SECONDS = 1.0, 2.5  # of each open loop in a turn; the lead does not count
_NUM_TEXTS = 600
_TEXT_SENTENCES = 3
_LEAST_SIMULATED = 4000


@dataclass(frozen=True, slots=True)
class _Kind:
    """Of texts."""

    name: str
    texts: Sequence[str]
    mix: Mix


@dataclass(frozen=True, slots=True)
class _Load:
    """An open loop of a run."""

    kind: _Kind
    rate_per_s: float


@dataclass(slots=True)
class _Sitting:
    """What one run measured: the latencies of each load by turns, and a calibration around each turn."""

    calibrations: list[Measured] = field(default_factory=list)
    turns: list[list[Turn]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Turn:
    """One open loop, once."""

    latencies_s: list[float]
    num_over: int
    others: float  # share of the cores that other programs used


@dataclass(frozen=True, slots=True)
class _Speed:
    """The machine during a turn."""

    slowness: float  # CPU time of a request by that of the whole run
    cores: float


def measure(plan: Plan) -> Iterator[Row]:
    """The rows of a run come when it is over."""
    kinds, loads = _kinds(plan.seed), []
    num_turns = max(1, round(_TURNS * plan.scale))
    with tqdm(total=plan.num_runs * (num_turns * 7 + 1), desc="plan", unit="step") as bar:
        calibrator = calibrate.Calibrator(plan.seed)
        for run in range(1, plan.num_runs + 1):
            sitting = _Sitting()
            with measured_system(()) as system:
                system.warm_up(kinds[0].texts, 1.0)
                for turn in range(num_turns):
                    wait_until_quiet()
                    sitting.calibrations.append(calibrator.measure(system, _CALIBRATION, lambda: None))
                    bar.update()
                    loads = loads or _loads(sitting.calibrations[0], kinds)
                    sitting.turns.append([_turn(system, load, 100 * run + turn, bar) for load in loads])
                sitting.calibrations.append(calibrator.measure(system, _CALIBRATION, lambda: None))
                bar.update()
            yield from _rows(run, sitting, loads)


def _kinds(seed: int) -> list[_Kind]:
    sentences = prompts.load(None, seed)[:_NUM_TEXTS]
    texts = [" ".join(sentences[at : at + _TEXT_SENTENCES]) for at in range(0, _NUM_TEXTS, _TEXT_SENTENCES)]
    return [
        _Kind("sentences", sentences, mix_of(sentences)),
        _Kind(f"texts of {_TEXT_SENTENCES}", texts, mix_of(texts)),
    ]


def _loads(measured: Measured, kinds: Sequence[_Kind]) -> list[_Load]:
    """Shares of what closed loops got; the rates are the same in all runs."""
    *_, single, several = measured.loads
    most = [single.throughput_per_s, several.throughput_per_s * several.sentences / kinds[1].mix.sentences_per_text]
    return [_Load(kind, share * capacity) for kind, capacity in zip(kinds, most, strict=True) for share in SHARES]


def _turn(system: MeasuredSystem, load: _Load, seed: int, bar: tqdm) -> Turn:
    arrivals = OpenLoop(load.rate_per_s, seed, MAX_OPEN_CONNECTIONS)
    before_s, machine = system.cpu_s(), Machine()
    running = SteadyLoad(system.target, load.kind.texts, arrivals, _LEAD_S, _SECONDS)
    found = running.run()
    others = machine.used_by_others(system.cpu_s() - before_s)
    bar.update()
    return Turn(found.latencies_s, found.num_over, others)


def _rows(run: int, sitting: _Sitting, loads: Sequence[_Load]) -> Iterator[Row]:
    mean = calibrate.together(sitting.calibrations)
    costs = calibrate.calibration_of(mean)
    slow = [calibrate.slowness(one, mean) for one in sitting.calibrations]
    cores = [costs.cores * calibrate.granted(one, mean) for one in sitting.calibrations]
    around = [
        _Speed(fmean(two), min(fmean(both), mean.cores))
        for two, both in zip(pairwise(slow), pairwise(cores), strict=True)
    ]
    for load, turns in zip(loads, zip(*sitting.turns, strict=True), strict=True):
        row = {"run": run, "mix": load.kind.name, "rate_per_s": round(load.rate_per_s, 1)} | _measured(turns)
        row |= {"slowest": round(max(slow), 3), "fastest": round(min(slow), 3), "cores": round(costs.cores, 2)}
        yield row | _predicted(costs, around, load.kind.mix, row)


def _measured(turns: Sequence[Turn]) -> Row:
    latencies_s = [one for turn in turns for one in turn.latencies_s]
    p50_ms, p95_ms = (1e3 * np.percentile(latencies_s or [np.nan], (50, 95))).round(3).tolist()
    num_over = sum(turn.num_over for turn in turns)
    return {
        "requests": num_over, "not_ok": num_over - len(latencies_s), "p50_ms": p50_ms, "p95_ms": p95_ms,
        "others": round(max(turn.others for turn in turns), 3),
    }  # fmt: skip


def _predicted(costs: Calibration, speeds: Sequence[_Speed], mix: Mix, row: Row) -> Row:
    """Of all turns together, as they were measured: each served by the machine of that turn."""
    latencies_s: list[float] = []
    for turn, speed in enumerate(speeds):
        service = Service(Deployment(cores=speed.cores, has_clients=True), slower(costs, speed.slowness), mix)
        # Other times than those at which the texts were sent.
        traffic = Poisson(row["rate_per_s"], seed=10_000 + 100 * int(row["run"]) + turn)
        latencies_s += service.run(traffic, max(_LEAST_SIMULATED, int(row["requests"])) // len(speeds)).latencies_s
    found: Row = {}
    for name, percent in (("p50", 50), ("p95", 95)):
        predicted = 1e3 * float(np.percentile(latencies_s, percent))
        found |= {f"{name}_predicted_ms": round(predicted, 3),
                  f"{name}_error": round(predicted / row[f"{name}_ms"] - 1, 4)}  # fmt: skip
    return found


def errors(rows: Sequence[Row], name: str) -> list[float]:
    return [abs(row[f"{name}_error"]) for row in rows]


def summary(rows: list[Row]) -> list[str]:
    """A table in Markdown, for docs/scale.md: measured medians, and the errors of all runs in their order."""
    lines = [
        "| texts | requests/s | p50 ms | errors of all runs | p95 ms | errors of all runs |",
        "|---|---|---|---|---|---|",
    ]
    for mix, rate_per_s in dict.fromkeys((row["mix"], row["rate_per_s"]) for row in rows):
        chosen = [row for row in rows if (row["mix"], row["rate_per_s"]) == (mix, rate_per_s)]
        cells = [
            f"{median(row[f'{name}_ms'] for row in chosen):.1f} | {_percents(row[f'{name}_error'] for row in chosen)}"
            for name in BARS
        ]
        lines.append(f"| {mix} | {rate_per_s:,.0f} | {' | '.join(cells)} |")
    for name, bar in BARS.items():
        found = errors(rows, name)
        lines.append(
            f"{name}: median error {median(found):.1%} (bar {bar:.0%}), largest {max(found):.0%}, of {len(found)}"
        )
    refused, others = sum(row["not_ok"] for row in rows), max(row["others"] for row in rows)
    lines.append(f"{refused:.0f} requests without an answer; other programs used up to {others:.0%} of the cores")
    return lines


def _percents(shares: Iterable[float]) -> str:
    return f"{', '.join(f'{100 * share:+.0f}' for share in shares)} %"


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, figure

    path = folder / "predicted.png"
    with figure(path, "Latency: predicted by calculation, and measured", width=6.4, height=5.6) as axes:
        values = [row[f"{name}_{what}"] for row in rows for name in BARS for what in ("ms", "predicted_ms")]
        ends = np.array([0.8 * min(values), 1.25 * max(values)])
        axes.fill_between(ends, 0.8 * ends, 1.2 * ends, color=COLOURS["idle"], alpha=0.6, label="within 20 %")
        axes.plot(ends, ends, color=COLOURS["text"], linewidth=0.8)
        marks = {"sentences": "o"}
        for name, colour in (("p50", "continuous"), ("p95", "sync")):
            for mix in dict.fromkeys(row["mix"] for row in rows):
                chosen = [row for row in rows if row["mix"] == mix]
                axes.plot([row[f"{name}_ms"] for row in chosen], [row[f"{name}_predicted_ms"] for row in chosen],
                          marks.get(mix, "^"), color=COLOURS[colour], alpha=0.7, label=f"{name}, {mix}")  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured, ms", ylabel="predicted, ms")
        axes.legend()
    return [path]
