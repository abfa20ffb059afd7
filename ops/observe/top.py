"""`miniserve top`: the running system on one screen, from GET /metrics alone. The live screen, one picture, or JSON.

Reading and drawing take turns in one event loop, so that a server that hangs keeps nobody from leaving.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import sys
import termios
import tty
from collections import deque
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live

from ops.load.client import Client
from ops.observe.picture import Frame, picture
from ops.observe.scrape import Scrape, ScrapeError, read
from ops.observe.snapshot import snapshot
from ops.options import NewFile, RangedType, of_server, option, with_settings
from scheduler.settings import Range, Settings

WINDOW_S = 10.0  # of the live view's rates and percentiles: a second alone holds too few requests for a p99
_SVG_WIDTH = 100


class Watch:
    """Makes a frame of each scrape and of each failure to read."""

    def __init__(self, frame: Frame, settings: Settings, api_key: str = "") -> None:
        self.frame = frame
        self._settings = settings
        self._client = Client(frame.url, api_key)
        self._scrapes: deque[Scrape] = deque()

    def add(self, latest: Scrape, now: datetime) -> None:
        """The window reaches back to the latest scrape that is at least WINDOW_S old."""
        self._scrapes.append(latest)
        while len(self._scrapes) > 2 and self._scrapes[1].at_s <= latest.at_s - WINDOW_S:
            self._scrapes.popleft()
        figures = snapshot(self._scrapes[0], latest, self._settings)
        self.frame = replace(self.frame, snapshot=figures, read_at=now, away_since=None, why="")

    def miss(self, why: str, now: datetime) -> None:
        """The server did not answer: the last values stay."""
        self.frame = replace(self.frame, away_since=self.frame.away_since or now, why=why)

    async def read(self) -> None:
        """Raises ScrapeError."""
        self.add(await read(self._client), datetime.now(UTC))

    async def read_twice(self) -> None:
        """Raises ScrapeError."""
        await self.read()
        await asyncio.sleep(self.frame.every_s)
        await self.read()

    async def read_on(self) -> None:
        """Without end."""
        clock = asyncio.get_running_loop().time
        while True:
            began_s = clock()
            try:
                await self.read()
            except ScrapeError as error:
                self.miss(str(error), datetime.now(UTC))
            await asyncio.sleep(max(0.0, began_s + self.frame.every_s - clock()))


@click.command()
@of_server
@option("--every", type=RangedType(float, Range(0.1, 3600)), default=1.0, show_default=True,
        help="Seconds between two readings.")  # fmt: skip
@option("--once", is_flag=True, help="Print one picture, of the time between two readings, and exit.")
@option("--json", is_flag=True)
@option("--svg", type=NewFile(), metavar="FILE", help="Save the picture as SVG, too, and exit.")
@with_settings("slo_ms")
def top(settings: Settings, url: str, api_key: str, every: float, **asked: Any) -> None:
    """Watch a running system: workers and slots, queue, rates, latency percentiles, Little's law.

    It reads GET /metrics and nothing else, so the system may be anywhere. Any replica reports the whole system. Rates
    and percentiles are of the last ten seconds, with --once of the time between its two readings. q or Ctrl-C
    ends it. If the server does not answer, the last values stay, with their age. Alerts are those that hold at this
    moment; give --slo-ms as the server has it.

    If standard output is no terminal, it acts as with --once. docs/watch.md lists the keys of the JSON document.

    Exits with 1 if a single picture was asked for and the URL does not answer.
    """
    console, watch = Console(), Watch(Frame(url, every), settings, api_key)
    if console.is_terminal and not console.is_dumb_terminal and not any(asked.values()):
        asyncio.run(_show(watch, console))
        return
    asyncio.run(watch.read_twice())
    frame = watch.frame
    assert frame.read_at is not None and frame.snapshot is not None
    if asked["json"]:
        click.echo(json.dumps({"url": url, "read_at": frame.read_at.isoformat(), **frame.snapshot.document()}))
    else:
        console.print(_drawn(frame, console))
    if asked["svg"]:
        _save(frame, asked["svg"])


def _drawn(frame: Frame, console: Console, hint: str = "") -> Group:
    return picture(frame, datetime.now(UTC), console.width, hint)


def _save(frame: Frame, path: Path) -> None:
    console = Console(record=True, width=_SVG_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(_drawn(frame, console))
    svg = console.export_svg(title="miniserve top")
    # The fonts that rich names lie on a foreign host: a picture shall need nobody.
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL).replace("Fira Code, ", "")
    path.write_text(svg, encoding="utf-8")


async def _show(watch: Watch, console: Console) -> None:
    """Show the screen until q, Ctrl-C, SIGTERM, or the terminal is gone."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    reading = asyncio.create_task(watch.read_on())
    reading.add_done_callback(lambda _: over.set())  # it ends by a bug alone
    with suppress(OSError, termios.error):  # the terminal was closed: there is nothing left to put in order
        before = _take_keys()
        if before is not None:
            loop.add_reader(sys.stdin, _look_at_keys, over)
        hint = "Ctrl-C quits" if before is None else "q quits"
        live = Live(
            console=console, screen=True, redirect_stdout=False, redirect_stderr=False,
            get_renderable=lambda: _drawn(watch.frame, console, hint),
        )  # fmt: skip
        loop.add_signal_handler(signal.SIGTSTP, _suspend, live, before)
        try:
            with live:
                await over.wait()
        finally:
            _give_back(before)
    if reading.done():
        reading.result()
    reading.cancel()


def _take_keys() -> list[Any] | None:
    """Standard input key by key and without echo: how it was before. None where it is no terminal, or closed."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin, termios.TCSANOW)
    return before


def _give_back(before: list[Any] | None) -> None:
    """What was typed meanwhile was for this screen: the shell shall not run it."""
    if before is not None:
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def _suspend(live: Live, before: list[Any] | None) -> None:
    """Ctrl-Z."""
    live.stop()
    _give_back(before)
    os.kill(os.getpid(), signal.SIGSTOP)
    _take_keys()
    live.start()


def _look_at_keys(over: asyncio.Event) -> None:
    """No byte means that the terminal is gone."""
    pressed = b""
    with suppress(OSError):
        pressed = os.read(sys.stdin.fileno(), 64)
    if not pressed or {*pressed} & {*b"qQ"}:
        over.set()
