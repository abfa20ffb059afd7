"""The screen of `miniserve top`, drawn with rich from a finished frame: no number is computed here.

It fits the room there is: two columns of panels from 76 characters on, four from 150 on, else one. Where the lines run
out, workers are left out, and said to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ops.observe.top import words
from ops.observe.top.bars import Bar
from ops.observe.top.panels import framed, panels_of
from ops.observe.top.view import View
from ops.observe.top.watch import Frame
from scheduler.capacity.rules import Alert

_WORKER_FRAME_LINES = 3  # two of the border, one of the headings


@dataclass(frozen=True, slots=True)
class Picture:
    """A frame as it looks at `now`; `hint` stands at the upper right."""

    frame: Frame
    now: datetime
    hint: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        above: list[RenderableType] = [self._title(), *self._notes(), *self._alerts()]
        view = self.frame.view
        if view is None:
            yield Group(*above)
            return
        below = _in_columns(panels_of(view), options.max_width)
        room = len(view.workers)
        if options.height is not None:
            others = sum(len(console.render_lines(part, options.update(height=None))) for part in (*above, below))
            room = options.height - others - _WORKER_FRAME_LINES
        yield Group(*above, _workers(view, room), below)

    def _title(self) -> Table:
        view = self.frame.view
        line = Table.grid(expand=True, padding=(0, 1))
        line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        line.add_column(justify="right", no_wrap=True)
        read_at = f"{self.frame.read_at:%H:%M:%S} UTC" if self.frame.read_at else ""
        is_calm = view is not None and not view.alerts and self.frame.away_since is None
        right = "  ".join(filter(None, ["no alerts" if is_calm else "", read_at, self.hint]))
        line.add_row(Text.assemble(("miniserve top", "bold"), f"  {self.frame.url}"), Text(right, "dim"))
        return line

    def _notes(self) -> list[RenderableType]:
        """What is wrong with the numbers, above them."""
        frame = self.frame
        if frame.away_since is not None:
            for_s = (self.now - frame.away_since).total_seconds()
            shown = f"; below: the values of {frame.read_at:%H:%M:%S}" if frame.read_at else ""
            since = f"NO NUMBERS since {frame.away_since:%H:%M:%S} UTC ({words.age(for_s)}){shown}"
            return [Text(since, "bold red"), Text(words.printable(frame.why), "red")]
        if frame.read_at is None:
            return [Text("no answer yet", "dim")]
        old_s = (self.now - frame.read_at).total_seconds()
        if old_s > frame.every_s + 2:
            return [Text(f"WAITING for an answer; below: the values of {words.age(old_s)} ago", "bold yellow")]
        return []

    def _alerts(self) -> list[RenderableType]:
        alerts = self.frame.view.alerts if self.frame.view is not None else ()
        return [Text.assemble((f"{one.severity.upper()} {one.name}: ", _style(one)), one.sentence) for one in alerts]


def _style(alert: Alert) -> str:
    return "bold red" if alert.severity == "critical" else "bold yellow"


def _in_columns(panels: list[Panel], width: int) -> Table:
    num_columns = 1 if width < 76 else 2 if width < 150 else 4
    grid = Table.grid(expand=True)
    for _ in range(num_columns):
        grid.add_column(ratio=1)
    for first in range(0, len(panels), num_columns):
        grid.add_row(*panels[first : first + num_columns])
    return grid


def _workers(view: View, room: int) -> Panel:
    """Draw at least one worker and, if not all fit, a line that says how many do not."""
    shown = view.workers if len(view.workers) <= room else view.workers[: max(1, room - 1)]
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("name", no_wrap=True, max_width=24, overflow="ellipsis")
    for bar, number in (("slots", "running"), ("KV tokens", "used")):
        table.add_column(bar, ratio=1, no_wrap=True)
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("tokens/s", justify="right", no_wrap=True)
    for worker in shown:
        table.add_row(*_worker_cells(worker))
    if not shown:
        table.add_row(Text("none lives", "bold red"))
    if num_left_out := len(view.workers) - len(shown):
        table.add_row(f"+ {num_left_out} more")
    replicas = words.count(view.api_replicas)
    return framed(f"workers {len(view.workers)}, API replicas {replicas}", table)


def _worker_cells(worker: dict[str, Any]) -> list[RenderableType]:
    waiting = f" +{words.count(worker['waiting'])}" if worker["waiting"] else ""
    return [
        Text(words.printable(worker["name"])),  # as text: brackets would be markup
        Bar(worker["running"], worker["slots"], "cyan"),
        f"{words.count(worker['running'])}/{words.count(worker['slots'])}{waiting}",
        Bar(worker["kv_tokens"], worker["kv_budget_tokens"], "blue"),
        f"{words.count(worker['kv_tokens'])}/{words.count(worker['kv_budget_tokens'])}",
        words.count(worker["tokens_per_s"]),
    ]
