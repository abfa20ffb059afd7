"""The figure of a plan: p95 against the number of workers, and of API processes."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path

from ops.bench.figures import COLOURS, plt
from ops.plan.report import Report
from ops.plan.sizing import Size, Sizer

_BELOW, _ABOVE = 2, 4  # of the planned number


def draw(path: Path, sizer: Sizer, found: Report) -> None:
    """The planned size is marked; sizes with which the queue grows are left out."""
    drawing, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, kind, label in zip(panels, ("workers", "replicas"), ("workers", "API processes"), strict=True):
        planned = getattr(found.size, kind)
        numbers = range(max(1, planned - _BELOW), planned + _ABOVE + 1)
        for rate, style, name in ((1.0, "o-", "as planned"), (1.2, "s--", "20 % more requests")):
            points = [(n, _p95_ms(sizer, found, rate, replace(found.size, **{kind: n}))) for n in numbers]
            drawn = [(n, p95) for n, p95 in points if isfinite(p95)]
            colour = COLOURS["continuous" if rate == 1.0 else "threaded"]
            axes.plot([n for n, _ in drawn], [p95 for _, p95 in drawn], style, color=colour, label=name)
        axes.axhline(1e3 * found.goal.p95_s, color=COLOURS["text"], linestyle=":", label="goal")
        axes.axvline(planned, color=COLOURS["idle"], linewidth=6, zorder=0)
        axes.set(xlabel=label, yscale="log")
        axes.grid(alpha=0.3)
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("p95 latency, ms")
    panels[0].legend()
    drawing.suptitle(f"{found.goal.rate_per_s:,g} requests/s: p95 by what runs; the plan is marked")
    drawing.savefig(path, dpi=120)
    plt.close(drawing)


def _p95_ms(sizer: Sizer, found: Report, rate: float, size: Size) -> float:
    return 1e3 * sizer.p95_s(rate * found.goal.rate_per_s, size)
