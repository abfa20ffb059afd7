"""One load after the other with ever more clients: the table, and the picture that shows where the server is full."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.load.measurements import is_clean
from ops.tables import table

_BAR = 24  # characters of the longest
_HEADINGS = (">clients", ">corrections/s", "", ">p50 ms", ">p95 ms", ">p99 ms", ">not ok")

Summaries = Mapping[int, Mapping[str, Any]]  # by number of clients


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def series_table(summaries: Summaries) -> str:
    most_per_s = max(summary["throughput_per_s"] for summary in summaries.values()) or 1.0

    def row(clients: int, summary: Mapping[str, Any]) -> Sequence[object]:
        per_s = summary["throughput_per_s"]
        num_not_ok = 0 if is_clean(summary) else summary["requests"] - summary["statuses"].get("200", 0)
        found = (summary[name] for name in ("p50_ms", "p95_ms", "p99_ms"))
        times = (None if each is None else f"{each:,.1f}" for each in found)
        return clients, f"{per_s:,.0f}", "█" * round(_BAR * per_s / most_per_s), *times, num_not_ok

    return table(_HEADINGS, (row(*one) for one in summaries.items()))


def draw(summaries: Summaries, path: Path) -> None:
    """Latency and throughput against the number of clients. Needs matplotlib."""
    from ops.bench.figures import COLOURS, figure

    clients = [*summaries]
    with figure(path, "One server, more and more clients") as axes:
        for name, style in (("p50_ms", "o-"), ("p95_ms", "o--")):
            times = [summary[name] for summary in summaries.values()]
            axes.plot(clients, times, style, color=COLOURS["static"], label=f"latency, {name[:-3]}")
        axes.set(xlabel="clients at once", ylabel="latency, ms", xscale="log", xticks=clients, xticklabels=clients)
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        right = axes.twinx()
        per_s = [summary["throughput_per_s"] for summary in summaries.values()]
        right.plot(clients, per_s, "s-", color=COLOURS["threaded"], label="throughput")
        right.set_ylabel("corrections/s")
        right.set_ylim(bottom=0)
        axes.legend(handles=[*axes.get_lines(), *right.get_lines()], loc="upper left")
