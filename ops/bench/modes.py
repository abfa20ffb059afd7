"""`modes`: the ways to serve, on one load over HTTP; static batching at its best and continuous where both are stable.

Static batching stands twice: as in textbooks, where every member decodes a fixed number of tokens, and at its best."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from ops.bench.experiment import Case, Load, Plan, Row, measured, medians, medians_table
from ops.bench.static_sweep import static_case
from ops.load.arrivals import Limits
from scheduler.messages import MAX_OUTPUT_TOKENS

CSV = "modes.csv"
TEXTBOOK = (8, 20.0)
OFFERED_SHARE = 0.8  # of the best static setting's own throughput
_LONG = 10  # times the requests of the standard load
_OPEN_S = 20.0
OPEN_LABEL = f"open, {OFFERED_SHARE:.0%} of static"
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "p99_ms", "not_ok")


def cases(static: tuple[int, float]) -> list[Case]:
    fixed = ("--fixed-tokens", str(MAX_OUTPUT_TOKENS))
    return [
        _case(
            "textbook", f"textbook static {TEXTBOOK[0]}, {TEXTBOOK[1]:g} ms", *static_case(*TEXTBOOK).options, *fixed
        ),
        _case("sync", "sync", "--mode", "sync"),
        _case("threaded", "threaded", "--mode", "threaded"),
        _case("static", f"static {static[0]}, {static[1]:g} ms", *static_case(*static).options),
        _case("continuous", "continuous", "--mode", "continuous"),
    ]


def _case(mode: str, setting: str, *options: str) -> Case:
    return Case(setting, {"mode": mode, "setting": setting}, options)


def measure(plan: Plan) -> list[Row]:
    """Each mode on the standard load and on one ten times as long; then static and continuous in an open loop."""
    closed = [plan.clients(), plan.clients(_LONG)]
    rows = list(measured(cases(plan.static), closed, plan, "modes, closed loop"))
    long = [row for row in rows if row["load"] == closed[1].label and row["mode"] == "static"]
    offered_per_s = OFFERED_SHARE * median(row["throughput_per_s"] for row in long)
    offered = Load(OPEN_LABEL, Limits(duration_s=_OPEN_S * plan.scale), rate_per_s=offered_per_s)
    batching = [case for case in cases(plan.static) if case.columns["mode"] in ("static", "continuous")]
    return rows + list(measured(batching, [offered], plan, "modes, open loop"))


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
        for number, load in enumerate(loads[:2]):
            points = medians([row for row in rows if row["load"] == load], ("setting", "mode"), ["throughput_per_s"])
            colours = [COLOURS[mode] for mode in points["mode"]]
            places = [place + 0.38 * number for place in range(len(colours))]
            bars = axes.bar(places, points["throughput_per_s"], 0.36, color=colours,
                            alpha=1.0 if number else 0.55, label=load)  # fmt: skip
            axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=8)
        axes.set_xticks([place + 0.19 for place in range(len(colours))], points["setting"])
        axes.set(ylabel="corrections per second")
        axes.margins(y=0.12)
        axes.legend(title="pale: the shorter load", loc="upper left")
    return paths
