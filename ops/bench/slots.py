"""`slots`: the capacity of one worker, found three ways.

A sweep over the number of slots shows the knee, under which a fixed number would be pinned. The token budget divided by
what a request reserves gives a number without measuring. What the worker really ran at once, admitting by the tokens
that are free, is the third; it moves with the length of the sentences.
"""

from __future__ import annotations

from math import log2
from pathlib import Path

from ops.bench.experiment import Case, Load, Plan, Row, measure_case, medians, rounds
from ops.load.arrivals import Limits
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.settings import Settings

CSV = "slots.csv"
PLANNED = ("num_runs", "scale")  # what of the plan it goes by
CLIENTS = 128  # in a closed loop
SLOTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SECONDS = 4.0
_COLUMNS = ("throughput_per_s", "p50_ms", "p95_ms", "mean_prompt_tokens", "peak_running")


def measure(plan: Plan) -> list[Row]:
    load = Load(f"{CLIENTS} clients", Limits(duration_s=_SECONDS * plan.scale), CLIENTS)
    cases = [Case(f"{slots} slots", ("--max-slots", str(slots)), {"slots": slots}) for slots in SLOTS]
    return [
        row for run, case in rounds(cases, plan.num_runs, "slots") for row in measure_case(case, [load], run, plan.seed)
    ]


def capacities(rows: list[Row]) -> dict[str, float]:
    """The number that each way gives."""
    points = medians(rows, "slots", _COLUMNS)
    widest = points[max(points)]
    reservation = widest["mean_prompt_tokens"] + MAX_OUTPUT_TOKENS
    return {
        "knee of the sweep": knee([(slots, point["throughput_per_s"]) for slots, point in points.items()]),
        "token budget / mean reservation": Settings().kv_budget_tokens / reservation,
        "most at once, by free tokens": widest["peak_running"],
    }


def knee(curve: list[tuple[float, float]]) -> float:
    """The x of the point highest above the straight line from the first point to the last, over log x.

    Satopaa et al., "Finding a 'Kneedle' in a Haystack" (2011); a share of the maximum would follow its noise.
    """
    (first_x, first_y), (last_x, last_y) = curve[0], curve[-1]

    def height(point: tuple[float, float]) -> float:
        along = log2(point[0] / first_x) / log2(last_x / first_x)
        return point[1] - (first_y + along * (last_y - first_y))

    return max(curve, key=height)[0]


def summary(rows: list[Row]) -> list[str]:
    lines = [
        f"  {slots:>4.0f} slots {point['throughput_per_s']:>7,.0f} corrections/s, p50 {point['p50_ms']:>6.1f}, "
        f"p95 {point['p95_ms']:>6.1f} ms, at most {point['peak_running']:.0f} at once"
        for slots, point in medians(rows, "slots", _COLUMNS).items()
    ]
    return [*lines, *(f"  {way}: {number:.0f}" for way, number in capacities(rows).items())]


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Throughput and p95 against the number of slots, the three numbers as lines across."""
    from ops.bench.figures import COLOURS, figure

    path, points = folder / "capacity.png", medians(rows, "slots", _COLUMNS)
    with figure(path, f"Capacity of one worker, found three ways ({rows[0]['load']})", width=8.5) as axes:
        axes.plot(list(points), [point["throughput_per_s"] for point in points.values()], "o-",
                  color=COLOURS["continuous"], label="corrections per second")  # fmt: skip
        latency = axes.twinx()
        latency.plot(list(points), [point["p95_ms"] for point in points.values()], "s--", color=COLOURS["sync"],
                     label="p95 latency, ms")  # fmt: skip
        styles = zip(capacities(rows).items(), (":", "-.", "--"), ("static", "threaded", "other"), strict=True)
        for (way, number), dashes, colour in styles:
            axes.axvline(number, linestyle=dashes, color=COLOURS[colour], label=f"{way}: {number:.0f}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(points), [f"{slots:g}" for slots in points])
        axes.set(xlabel="max_slots", ylabel="corrections per second")
        latency.set_ylabel("p95 latency, ms")
        for one in (axes, latency):
            one.set_ylim(bottom=0)
        handles, labels = (first + second for first, second in zip(
            axes.get_legend_handles_labels(), latency.get_legend_handles_labels(), strict=True))  # fmt: skip
        axes.legend(handles, labels, loc="lower right", fontsize=9)
    return [path]
