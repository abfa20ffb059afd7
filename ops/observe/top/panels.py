"""The four small panels below the workers: queue, rates, latency, capacity. Each has five rows."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ops.observe.top import words
from ops.observe.top.bars import Bar
from ops.observe.top.view import Figures, Latency, View

_LATENCIES = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E", "queue": "queue"}


def panels_of(view: View) -> list[Panel]:
    window = f", of {words.seconds(view.window_s)}" if view.window_s > 0 else ""  # a first reading has none yet
    return [
        framed("queue", _queue(view.queue)),
        framed(f"rates{window}", _rates(view.rates)),
        framed(f"latency{window}", _latency(view.latency)),
        framed("capacity", _capacity(view.law, view.capacity)),
    ]


def framed(title: str, inside: RenderableType) -> Panel:
    return Panel(inside, title=f"[bold]{title}[/]", title_align="left", box=box.ROUNDED, border_style="dim")


def fullness(used: float | None, limit: float | None) -> str:
    """The colour of a bar: it repeats what its length says."""
    share = used / limit if used is not None and limit else 0.0
    return "green" if share <= 0.8 else "yellow" if share < 1 else "red"


def _queue(queue: Figures) -> Table:
    rows = _rows()
    held = None if queue["waiting"] is None or queue["running"] is None else queue["waiting"] + queue["running"]
    dead = _alarming(words.count(queue["dead_letters"]), bool(queue["dead_letters"]))
    rows.add_row("waiting", _told(words.count(queue["waiting"]), _oldest(queue["oldest_waiting_s"])))
    rows.add_row("in Redis", Text.assemble(words.count(queue["depth"]), ("  dead letters ", "dim"), dead))
    rows.add_row("running", _told(words.count(queue["running"]), _oldest(queue["oldest_running_s"])))
    rows.add_row("requests", _bar(held, queue["max_requests"]))
    rows.add_row("tokens", _bar(queue["reserved_tokens"], queue["max_tokens"]))
    return rows


def _oldest(age_s: float | None) -> str:
    return f"oldest {words.seconds(age_s)}" if age_s else ""


def _rates(rates: dict[str, Any]) -> Table:
    rows = _rows()
    rows.add_row("arrivals", words.rate(rates["arrivals_per_s"]))
    rows.add_row("done", words.rate(rates["done_per_s"]))
    rows.add_row("tokens", words.rate(rates["tokens_per_s"]))
    rows.add_row("refused", _with_most(rates["refused_per_s"], rates["refused_by_type"]))
    rows.add_row("failed", _with_most(rates["failed_per_s"], rates["failed_by_type"]))
    return rows


def _with_most(rate: float | None, by_type: dict[str, float]) -> Text:
    """The rate, and the type that is most of it."""
    number = _alarming(words.rate(rate), bool(rate))
    return _told(number, words.printable(max(by_type, key=lambda name: by_type[name], default="")))


def _latency(latencies: dict[str, Latency]) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("")
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


def _capacity(law: Figures, capacity: Figures) -> Table:
    rows = _rows()
    # No equation: the server takes lambda over a shorter window than L and W, and the residual over one for all three.
    rate, time = words.rate(law["arrival_rate_per_s"]), words.seconds(law["time_in_system_s"])
    rows.add_row("L, lambda, W", f"{words.number(law['number_in_system'])}, {rate}, {time}")
    rows.add_row("residual", f"{words.percent(law['residual'])} (L - lambda W)")
    rows.add_row("utilization", _bar(capacity["utilization"], 1.0, words.percent(capacity["utilization"])))
    rows.add_row("next waits", f"{words.seconds(capacity['predicted_wait_s'])} (predicted)")
    needed, live = capacity["workers_needed"], capacity["workers_live"]
    is_short = needed is not None and live is not None and live < needed
    rows.add_row("workers", _alarming(f"{words.count(live)} live, {words.count(needed)} needed", is_short))
    return rows


def _rows() -> Table:
    rows = Table.grid(padding=(0, 1), expand=True)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    return rows


def _told(number: str | Text, more: str) -> Text:
    return Text.assemble(number, (f"  {more}" if more else "", "dim"))


def _alarming(text: str, is_so: bool) -> Text:
    return Text(text, style="bold red" if is_so else "")


def _bar(used: float | None, limit: float | None, text: str | None = None) -> Table:
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    row.add_row(Bar(used, limit, fullness(used, limit)), text or f"{words.count(used)} of {words.count(limit)}")
    return row
