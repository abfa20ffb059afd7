"""`modes`: the ways to serve, on one load over HTTP; static batching at its best and continuous where both are stable.

Static batching stands twice: as in textbooks, where every member decodes a fixed number of tokens, and at its best."""

from __future__ import annotations

from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measure_case, medians, medians_table, rounds
from ops.bench.static_sweep import static_case
from ops.load.arrivals import Limits
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.settings import MODES

CSV = "modes.csv"
PLANNED = ("num_runs", "concurrency", "total", "scale")  # what of the plan it goes by
DEFAULT_STATIC = (16, 20.0)
TEXTBOOK = (8, 20.0)
OFFERED_SHARE = 0.8  # of the best static setting's own throughput
_LONG = 10  # times the requests of the standard load
_OPEN_S = 20.0
OPEN_LABEL = f"open, {OFFERED_SHARE:.0%} of static"
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "p99_ms", "not_ok")


def cases(static: tuple[int, float]) -> list[Case]:
    others = {mode: Case(mode, ("--mode", mode), {"mode": mode, "setting": mode}) for mode in MODES if mode != "static"}
    chosen = static_case(*static)
    columns = {"mode": "static", "setting": f"static {static[0]}, {static[1]:g} ms"}
    best = Case(chosen.label, chosen.options, columns)
    return [_textbook_case(), others["sync"], others["threaded"], best, others["continuous"]]


def _textbook_case() -> Case:
    case = static_case(*TEXTBOOK)
    columns = {"mode": "textbook", "setting": f"textbook static {TEXTBOOK[0]}, {TEXTBOOK[1]:g} ms"}
    return Case(f"textbook {case.label}", (*case.options, "--fixed-tokens", str(MAX_OUTPUT_TOKENS)), columns)


def measure(plan: Plan, static: tuple[int, float] = DEFAULT_STATIC) -> list[Row]:
    """Each mode on the standard load and on one ten times as long; then static and continuous in an open loop."""
    standard = Load(f"{plan.concurrency} clients, {plan.total}", Limits(total=plan.total), plan.concurrency)
    num_long = plan.total * _LONG
    long = Load(f"{plan.concurrency} clients, {num_long}", Limits(total=num_long), plan.concurrency)
    rows: list[Row] = []
    for run, case in rounds(cases(static), plan.num_runs, "modes, closed loop"):
        rows += measure_case(case, [standard, long], run, plan.seed)
    found = medians((row for row in rows if row["load"] == long.label), "mode", ["throughput_per_s"])
    offered_per_s = OFFERED_SHARE * found["static"]["throughput_per_s"]
    offered = Load(OPEN_LABEL, Limits(duration_s=_OPEN_S * plan.scale), rate_per_s=offered_per_s)
    batching = [case for case in cases(static) if case.columns["mode"] in ("static", "continuous")]
    for run, case in rounds(batching, plan.num_runs, "modes, open loop"):
        rows += measure_case(case, [offered], run, plan.seed)
    return rows


def summary(rows: list[Row]) -> list[str]:
    return [medians_table(rows, ("load", "setting"), _COLUMNS)]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    from ops.bench.figures import COLOURS, draw_cdf, figure, finish_cdf

    loads = list(dict.fromkeys(row["load"] for row in rows))
    paths = [folder / "latency_cdf_modes.png", folder / "throughput_by_mode.png"]
    with figure(paths[0], f"Latency by mode: {loads[1]} requests") as axes:
        for mode in dict.fromkeys(row["mode"] for row in rows):
            chosen = [row for row in rows if row["mode"] == mode and row["load"] == loads[1]]
            draw_cdf(axes, chosen, chosen[0]["setting"], COLOURS[mode])
        finish_cdf(axes)
    with figure(paths[1], "Throughput by mode") as axes:
        closed = loads[:2]
        for number, load in enumerate(closed):
            points = medians([row for row in rows if row["load"] == load], "setting", _COLUMNS)
            colours = [COLOURS[next(row["mode"] for row in rows if row["setting"] == setting)] for setting in points]
            places = [place + 0.38 * number for place in range(len(points))]
            bars = axes.bar(places, [point["throughput_per_s"] for point in points.values()], 0.36, color=colours,
                            alpha=1.0 if number else 0.55, label=load)  # fmt: skip
            axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=8)
        axes.set_xticks([place + 0.19 for place in range(len(points))], list(points))
        axes.set(ylabel="corrections per second")
        axes.margins(y=0.12)
        axes.legend(title="pale: the shorter load", loc="upper left")
    return paths
