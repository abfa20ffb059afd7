"""Draws the waterfall of a request in the terminal."""

from __future__ import annotations

from typing import Any

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

_BAR_WIDTH, _WIDTH = 60, 110


def trace_picture(trace: dict[str, Any]) -> str:
    """One line for each stage; `trace` as an answer has it."""
    table = Table("stage", box=None, pad_edge=False)
    for name in ("start ms", "took ms", "tokens"):
        table.add_column(name, justify="right")
    table.add_column(f"0 to {trace['total_ms']:.1f} ms")
    for stage in trace["stages"]:
        start, took = stage["start_ms"], stage["duration_ms"]
        name = f"  {stage['name']} {stage['sentence']}" if "sentence" in stage else stage["name"]
        bar = Bar(trace["total_ms"] or 1.0, start, start + took, width=_BAR_WIDTH)
        table.add_row(name, f"{start:.2f}", f"{took:.2f}", str(stage.get("output_tokens", "")), bar)
    console = Console(width=_WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
