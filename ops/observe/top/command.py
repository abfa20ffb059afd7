"""The command `miniserve top`: a live screen, one picture, or one JSON document."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ops.observe.scrape import ScrapeError, metrics_url
from ops.observe.top import screen
from ops.observe.top.drawing import Picture
from ops.observe.top.view import document
from ops.observe.top.watch import Frame, Watch, read_twice
from ops.options import RangedType, option, with_settings
from scheduler.settings import Range, Settings

_SVG_WIDTH = 100


@click.command()
@option("--url", default="http://127.0.0.1:8000", show_default=True)
@option("--api-key", default="")
@option("--every", type=RangedType(float, Range(0.1, 3600)), default=1.0, show_default=True,
        help="Seconds between two readings.")  # fmt: skip
@option("--once", is_flag=True, help="Print one picture, of the time between two readings, and exit.")
@option("--json", is_flag=True)
@option("--svg", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
        help="Save the picture as SVG, too, and exit.")  # fmt: skip
@with_settings("slo_ms")
def top(settings: Settings, url: str, api_key: str, every: float, **asked: Any) -> None:
    """Watch a running system: workers and slots, queue, rates, latency percentiles, Little's law.

    It reads GET /metrics and nothing else, so the system may be anywhere. Any replica reports the whole system. Rates
    and percentiles are of the last ten seconds, with --once of the time between its two readings. q or Ctrl-C
    ends it. If the server does not answer, the last values stay, with their age. Alerts are those that hold at this
    moment; give --slo-ms as the server has it.

    If standard output is no terminal, it acts as with --once. docs/top.md lists the keys of the JSON document.

    Exits with 1 if a single picture was asked for and the URL does not answer.
    """
    try:
        metrics_url(url)
    except ScrapeError as error:
        raise click.BadParameter(str(error), param_hint="--url") from None
    console, watch = Console(), Watch(url, every, settings, api_key)
    if console.is_terminal and not console.is_dumb_terminal and not any(asked.values()):
        screen.show(watch, console)
        return
    try:
        frame = read_twice(watch)
    except ScrapeError as error:
        raise click.ClickException(str(error)) from None
    _print(frame, console, asked["json"])
    if asked["svg"]:
        _save(frame, asked["svg"])


def _print(frame: Frame, console: Console, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"url": frame.url, "read_at": frame.read_at.isoformat(), **document(frame.view)}))
    else:
        console.print(Picture(frame, datetime.now(UTC)))


def _save(frame: Frame, path: Path) -> None:
    console = Console(record=True, width=_SVG_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Picture(frame, datetime.now(UTC)))
    svg = console.export_svg(title="miniserve top")
    # The fonts that rich names lie on a foreign host: a picture shall need nobody.
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL).replace("Fira Code, ", "")
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--svg {path} cannot be written: {error.strerror}") from None
