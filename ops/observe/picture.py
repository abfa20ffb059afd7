"""The screen of `miniserve top`, drawn with rich from a finished frame: no number is computed here.

It has two columns of panels from 76 characters on, else one. The workers come last: where the lines run out, theirs
are cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ops.observe import words
from ops.observe.snapshot import Latency, Snapshot

_LATENCIES = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E", "queue": "queue"}


@dataclass(frozen=True, slots=True)
class Frame:
    """What is known now: the last values, and since when the server is away, if it is."""

    url: str
    snapshot: Snapshot | None = None
    read_at: datetime | None = None
    away_since: datetime | None = None
    why: str = ""


def picture(frame: Frame, now: datetime, width: int, hint: str = "") -> Group:
    """The frame as it looks at `now`; `hint` stands at the upper right."""
    above: list[RenderableType] = [_title(frame, hint), *_notes(frame, now)]
    figures = frame.snapshot
    if figures is None:
        return Group(*above)
    alerts = [
        Text.assemble((f"{one.severity.upper()} {one.name}: ", _alarm(one.severity)), one.sentence)
        for one in figures.alerts
    ]
    panels = Columns(_panels(figures), padding=0, width=width if width < 76 else width // 2)
    return Group(*above, *alerts, panels, _workers(figures))


def _alarm(severity: str) -> str:
    return "bold red" if severity == "critical" else "bold yellow"


def _title(frame: Frame, hint: str) -> Table:
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    is_calm = frame.snapshot is not None and not frame.snapshot.alerts and frame.away_since is None
    read_at = f"{frame.read_at:%H:%M:%S} UTC" if frame.read_at else ""
    right = "  ".join(filter(None, ["no alerts" if is_calm else "", read_at, hint]))
    line.add_row(Text.assemble(("miniserve top", "bold"), f"  {frame.url}"), Text(right, "dim"))
    return line


def _notes(frame: Frame, now: datetime) -> Iterator[Text]:
    """What is wrong with the numbers, above them."""
    if frame.away_since is not None:
        shown = f"; below: the values of {frame.read_at:%H:%M:%S}" if frame.read_at else ""
        for_s = words.age((now - frame.away_since).total_seconds())
        yield Text(f"NO NUMBERS since {frame.away_since:%H:%M:%S} UTC ({for_s}){shown}", "bold red")
        yield Text(words.printable(frame.why), "red")
    elif frame.read_at is None:
        yield Text("no answer yet", "dim")


def _rows(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for name, figures in rows:
        table.add_row(name, Text(figures))  # as text: brackets would be markup
    return table


def _panel(title: str, inside: RenderableType) -> Panel:
    return Panel(inside, title=f"[bold]{title}[/]", title_align="left", box=box.ROUNDED, border_style="dim")


def _panels(figures: Snapshot) -> list[Panel]:
    window = f", of {words.seconds(figures.window_s)}" if figures.window_s > 0 else ""  # a first reading has none yet
    return [
        _panel("queue", _rows(_queue(figures.queue))),
        _panel(f"rates{window}", _rows(_rates(figures.rates))),
        _panel(f"latency{window}", _latencies(figures.latency)),
        _panel("capacity", _rows(_capacity(figures))),
    ]


def _queue(queue: dict[str, float | None]) -> list[tuple[str, str]]:
    held = None if queue["waiting"] is None or queue["running"] is None else queue["waiting"] + queue["running"]
    reserved, dead = words.count(queue["reserved_tokens"]), words.count(queue["dead_letters"])
    return [
        ("waiting", f"{words.count(queue['waiting'])}{_oldest(queue['oldest_waiting_s'])}"),
        ("in Redis", f"{words.count(queue['depth'])}  dead letters {dead}"),
        ("running", f"{words.count(queue['running'])}{_oldest(queue['oldest_running_s'])}"),
        ("requests", f"{words.count(held)} of {words.count(queue['max_requests'])}"),
        ("tokens", f"{reserved} of {words.count(queue['max_tokens'])}"),
    ]


def _oldest(age_s: float | None) -> str:
    return f"  oldest {words.seconds(age_s)}" if age_s else ""


def _rates(rates: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, words.rate(rates[f"{name}_per_s"])) for name in ("arrivals", "done", "tokens")]
    for name in ("refused", "failed"):  # with the type that is most of it
        by_type = rates[f"{name}_by_type"]
        most = words.printable(max(by_type, key=lambda one: by_type[one], default=""))
        rows.append((name, f"{words.rate(rates[f'{name}_per_s'])}  {most}"))
    return rows


def _latencies(latencies: dict[str, Latency]) -> Table:
    table = Table("", box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("p50", "p95", "p99"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, shown in _LATENCIES.items():
        one = latencies[name]
        table.add_row(shown, *(_percentile(value, one.highest_s) for value in (one.p50_s, one.p95_s, one.p99_s)))
    return table


def _percentile(value_s: float | None, highest_s: float | None) -> str:
    """Beyond the last bucket nobody knows how far."""
    is_beyond = value_s is not None and highest_s is not None and value_s >= highest_s
    return (">= " if is_beyond else "") + words.seconds(value_s)


def _capacity(figures: Snapshot) -> list[tuple[str, str]]:
    law, capacity = figures.law, figures.capacity
    # No equation: the server takes lambda over a shorter window than L and W, and the residual over one for all three.
    rate, time = words.rate(law["arrival_rate_per_s"]), words.seconds(law["time_in_system_s"])
    return [
        ("L, lambda, W", f"{words.number(law['number_in_system'])}, {rate}, {time}"),
        ("residual", f"{words.percent(law['residual'])} (L - lambda W)"),
        ("utilization", words.percent(capacity["utilization"])),
        ("next waits", f"{words.seconds(capacity['predicted_wait_s'])} (predicted)"),
        ("workers", f"{words.count(capacity['workers_live'])} live, {words.count(capacity['workers_needed'])} needed"),
    ]


def _workers(figures: Snapshot) -> Panel:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("name", no_wrap=True, max_width=24, overflow="ellipsis")
    for bar, number in (("slots", "running"), ("KV tokens", "used")):
        table.add_column(bar, ratio=1, no_wrap=True)
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("tokens/s", justify="right", no_wrap=True)
    for worker in figures.workers:
        table.add_row(
            Text(words.printable(worker["name"])),  # as text: brackets would be markup
            _progress(worker["running"], worker["slots"]),
            f"{words.count(worker['running'])}/{words.count(worker['slots'])}"
            + (f" +{words.count(worker['waiting'])}" if worker["waiting"] else ""),
            _progress(worker["kv_tokens"], worker["kv_budget_tokens"]),
            f"{words.count(worker['kv_tokens'])}/{words.count(worker['kv_budget_tokens'])}",
            words.count(worker["tokens_per_s"]),
        )
    if not figures.workers:
        table.add_row(Text("none lives", "bold red"))
    return _panel(f"workers {len(figures.workers)}, API replicas {words.count(figures.api_replicas)}", table)


def _progress(used: float | None, limit: float | None) -> ProgressBar:
    """Its colour repeats what its length says."""
    share = min(1.0, used / limit) if used is not None and limit else 0.0
    colour = "green" if share <= 0.8 else "yellow" if share < 1 else "red"
    return ProgressBar(1.0, share, complete_style=colour, finished_style=colour)
