"""`plan`: what the calculation of `miniserve plan` predicts, against what a system on this machine does.

In each run a calibration, then open loops at three loads with two kinds of text, then another calibration: the machine
may have become faster or slower meanwhile, so the prediction is the mean of both. The calibrations have closed loops
only, and texts of one and of four sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tqdm import tqdm

from ops.bench.experiment import Plan, Row
from ops.load import prompts
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, Limits, OpenLoop
from ops.load.generator import Generator
from ops.plan import calibrate
from ops.plan.costs import Calibration
from ops.plan.measuring import MeasuredSystem, measured_system
from ops.plan.mix import Mix, mix_of
from ops.plan.service import Deployment, Outcome, Service
from ops.plan.traffic import Clients, Poisson

CSV = "plan.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
SHARES = (0.3, 0.5, 0.7)  # of what 64 clients in a closed loop get
BARS = {"p50": 0.15, "p95": 0.20}  # for the median error
_SECONDS = 6.0
_NUM_TEXTS = 600
_TEXT_SENTENCES = 3
_LEAST_SIMULATED = 4000


@dataclass(frozen=True, slots=True)
class _Kind:
    """Of texts."""

    name: str
    texts: Sequence[str]
    mix: Mix


def measure(plan: Plan) -> Iterator[Row]:
    kinds, capacities = _kinds(plan.seed), {}
    with tqdm(total=plan.num_runs * len(kinds) * len(SHARES), desc="plan", unit="load") as bar:
        for run in range(1, plan.num_runs + 1):
            before = calibrate.calibration_of(calibrate.measure(plan.seed + run, plan.scale))
            capacities = capacities or {kind.name: _capacity(before, kind.mix) for kind in kinds}
            measured = []
            with measured_system(()) as system:
                system.warm_up(kinds[0].texts, 0.0)
                for kind in kinds:
                    for share in SHARES:
                        measured.append(_measured(system, kind, share * capacities[kind.name], (run, plan.scale)))
                        bar.update()
            after = calibrate.calibration_of(calibrate.measure(plan.seed + run, plan.scale))
            for row in measured:
                mix = next(kind.mix for kind in kinds if kind.name == row["mix"])
                yield row | _predicted((before, after), mix, row)


def _kinds(seed: int) -> list[_Kind]:
    sentences = prompts.load(None, seed)[:_NUM_TEXTS]
    texts = [" ".join(sentences[at : at + _TEXT_SENTENCES]) for at in range(0, _NUM_TEXTS, _TEXT_SENTENCES)]
    return [
        _Kind("sentences", sentences, mix_of(sentences)),
        _Kind(f"texts of {_TEXT_SENTENCES}", texts, mix_of(texts)),
    ]


def _service(costs: Calibration, mix: Mix) -> Service:
    return Service(Deployment(cores=costs.cores, has_clients=True), costs, mix)


def _capacity(costs: Calibration, mix: Mix) -> float:
    """Requests per second."""
    return _service(costs, mix).run(Clients(64), _LEAST_SIMULATED).throughput_per_s


def _measured(system: MeasuredSystem, kind: _Kind, rate_per_s: float, about: tuple[int, float]) -> Row:
    run, scale = about
    arrivals = OpenLoop(rate_per_s, run, MAX_OPEN_CONNECTIONS)
    found = Generator(system.target, kind.texts, arrivals, Limits(duration_s=_SECONDS * scale), None).run()
    p50_ms, p95_ms = (1e3 * np.percentile(found.latencies_s or [np.nan], (50, 95))).round(3).tolist()
    return {
        "run": run, "mix": kind.name, "rate_per_s": round(rate_per_s, 1), "requests": found.num_over,
        "not_ok": found.num_over - found.statuses[200], "p50_ms": p50_ms, "p95_ms": p95_ms,
    }  # fmt: skip


def _predicted(calibrations: Sequence[Calibration], mix: Mix, row: Row) -> Row:
    found: Row = {}
    outcomes = [_outcome(costs, mix, row) for costs in calibrations]
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        before, after = (1e3 * outcome.quantile_s(share) for outcome in outcomes)
        predicted = (before + after) / 2
        found |= {
            f"{name}_before_ms": round(before, 3), f"{name}_after_ms": round(after, 3),
            f"{name}_predicted_ms": round(predicted, 3), f"{name}_error": round(predicted / row[f"{name}_ms"] - 1, 4),
        }  # fmt: skip
    return found


def _outcome(costs: Calibration, mix: Mix, row: Row) -> Outcome:
    """At other times than those at which texts were sent."""
    traffic = Poisson(row["rate_per_s"], seed=1000 + int(row["run"]))
    return _service(costs, mix).run(traffic, max(_LEAST_SIMULATED, int(row["requests"])))


def errors(rows: Sequence[Row], name: str) -> list[float]:
    return [abs(row[f"{name}_error"]) for row in rows]


def summary(rows: list[Row]) -> list[str]:
    lines = ["  run  texts          requests/s   p50 ms  predicted   error   p95 ms  predicted   error"]
    for row in rows:
        cells = "".join(
            f" {row[f'{name}_ms']:8.2f} {row[f'{name}_predicted_ms']:10.2f} {row[f'{name}_error']:+7.0%}"
            for name in BARS
        )
        lines.append(f"  {row['run']:3.0f}  {row['mix']:14} {row['rate_per_s']:10,.0f}{cells}")
    for name, bar in BARS.items():
        found = errors(rows, name)
        lines.append(
            f"  {name}: median error {median(found):.1%} (bar {bar:.0%}), largest {max(found):.0%}, of {len(found)}"
        )
    return lines


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
