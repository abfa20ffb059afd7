"""`day`: a simulated day of a million requests under two autoscaling rules, that of the manifests and queue length.

No server and no measurement: the costs are those of a calibration (the one that ships, or `calibration.json` here).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ops.bench.experiment import Plan, Row
from ops.load import prompts
from ops.plan import costs
from ops.plan.autoscaling import RULES
from ops.plan.day import HOUR_S, ROW_S, DayPlan, Minute, SimulatedDay
from ops.plan.mix import mix_of

CSV = "day.csv"
PLANNED = ("seed", "scale")  # what of the plan it goes by
_QUICK_H = (16.5, 18.0)
_NUM_TEXTS = 600
_SMOOTH = 5  # minutes of a point in the figure
_LATE_S = 15.0


def measure(plan: Plan) -> Iterator[Row]:
    calibration = costs.read(costs.DEFAULT_FILE if costs.DEFAULT_FILE.exists() else costs.SHIPPED)
    day, mix = DayPlan(), mix_of(prompts.load(None, plan.seed)[:_NUM_TEXTS])
    if plan.scale < 1:
        day = replace(day, begin_h=_QUICK_H[0], end_h=_QUICK_H[1])
    for name, rule in RULES.items():
        begun_s = time.process_time()
        simulated = SimulatedDay(day, rule, calibration, mix, plan.seed)
        with tqdm(total=round((day.end_h - day.begin_h) * 60), desc=name, unit="min") as bar:
            minutes = simulated.run(lambda at_s, bar=bar: bar.update(int(at_s / 60 - day.begin_h * 60) - bar.n))
        cpu_s = time.process_time() - begun_s
        yield from (_row(name, minute, cpu_s) for minute in minutes)


def _row(rule: str, minute: Minute, cpu_s: float) -> Row:
    within = sum(latency_s <= _LATE_S for latency_s in minute.latencies_s)
    return {
        "rule": rule, "hour": round(minute.at_s / HOUR_S, 4), "offered": minute.offered, "refused": minute.refused,
        "retried": minute.retried, "answered": len(minute.latencies_s), "within": within,
        "p95_s": round(p95_s, 3) if (p95_s := minute.p95_s) is not None else nan,
        "workers": minute.workers, "open": minute.open, "cpu_s": round(cpu_s, 1),
    }  # fmt: skip


def summary(rows: list[Row]) -> list[str]:
    lines = ["  rule                   requests  sentences   refused   late   worker hours   most   CPU s"]
    for rule, chosen in _by_rule(rows).items():
        total = {name: sum(row[name] for row in chosen) for name in ("offered", "answered", "refused", "within")}
        hours = sum(row["workers"] for row in chosen) * ROW_S / HOUR_S
        lines.append(
            f"  {rule:22} {total['offered']:9,.0f} {total['answered']:10,.0f} {total['refused']:9,.0f} "
            f"{total['answered'] - total['within']:6,.0f} {hours:14,.0f} "
            f"{max(row['workers'] for row in chosen):6.0f} {chosen[0]['cpu_s']:7.1f}"
        )
    return [*lines, f"  sentences: all that were answered; late: of them, after more than {_LATE_S:g} s"]


def _by_rule(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {rule: [row for row in rows if row["rule"] == rule] for rule in dict.fromkeys(row["rule"] for row in rows)}


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, plt

    path, rules = folder / "day.png", _by_rule(rows)
    drawing, panels = plt.subplots(4, 1, figsize=(9, 9), layout="constrained", sharex=True)
    colours = dict(zip(rules, (COLOURS["continuous"], COLOURS["sync"]), strict=False))
    first = next(iter(rules.values()))
    panels[0].plot(*_points(first, "offered", 1 / ROW_S), color=COLOURS["text"])
    for rule, chosen in rules.items():
        panels[1].plot(*_points(chosen, "workers"), color=colours[rule], label=rule)
        panels[2].plot(*_points(chosen, "p95_s"), color=colours[rule], label=rule)
        panels[3].plot(*_points(chosen, "refused", 1 / ROW_S), color=colours[rule], label=rule)
    for axes, label in zip(panels, ("requests/s", "workers", "p95, s", "refused/s"), strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        _mark(axes, DayPlan(), axes is panels[0])
    panels[2].set_ylim(bottom=0)
    panels[3].set_ylim(0, max(1.0, panels[3].get_ylim()[1]))
    panels[1].legend(loc="upper left")
    panels[-1].set_xlabel("hour of the day")
    panels[0].set_title("A simulated day, three shards, under two autoscaling rules")
    drawing.savefig(path, dpi=110)
    plt.close(drawing)
    return [path]


def _points(rows: Sequence[Row], name: str, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Means of some minutes."""
    number = len(rows) // _SMOOTH * _SMOOTH
    values = np.array([row[name] for row in rows[:number]], float).reshape(-1, _SMOOTH)
    hours = np.array([row["hour"] for row in rows[:number:_SMOOTH]])
    return hours, factor * values.mean(axis=1)


def _mark(axes: object, day: DayPlan, is_named: bool) -> None:
    marks = (("burst", day.burst_h, day.burst_minutes), ("a shard is away", day.fails_h, day.fails_minutes))
    for what, begin_h, minutes in marks:
        axes.axvspan(begin_h, begin_h + minutes / 60, color="#DDDDDD", zorder=0)
        if is_named:
            end = begin_h + minutes / 60, axes.get_ylim()[1]
            axes.annotate(what, end, (3, -10), textcoords="offset points", fontsize=8)
