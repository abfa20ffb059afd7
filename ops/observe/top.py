"""`miniserve top`: the running system on one screen, from GET /metrics alone. The live screen, one picture, or JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
import threading
import time
import tty
from collections import deque
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import click
from rich.console import Console, Group
from rich.live import Live

from ops.observe.picture import Frame, picture
from ops.observe.scrape import Scrape, ScrapeError, scrape
from ops.observe.snapshot import snapshot
from ops.options import number, of_server, option, with_settings
from scheduler.settings import Settings

WINDOW_S = 10.0  # of the live view's rates and percentiles: a second alone holds too few requests for a p99


class Watch:
    """Makes a frame of each scrape and of each failure to read."""

    def __init__(self, frame: Frame, settings: Settings, api_key: str = "") -> None:
        self.frame = frame
        self._settings = settings
        self._api_key = api_key
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

    def read(self) -> None:
        """Raises ScrapeError."""
        self.add(scrape(self.frame.url, self._api_key), datetime.now(UTC))


@click.command()
@of_server
@option("--every", type=number(float, 0.1, 3600), default=1.0, show_default=True,
        help="Seconds between two readings.")  # fmt: skip
@option("--once", is_flag=True, help="Print one picture, of the time between two readings, and exit.")
@option("--json", is_flag=True)
@with_settings("slo_ms")
def top(settings: Settings, url: str, api_key: str, every: float, **asked: bool) -> None:
    """Watch a running system: workers and slots, queue, rates, latency percentiles, Little's law.

    It reads GET /metrics and nothing else, so the system may be anywhere. Any replica reports the whole system. Rates
    and percentiles are of the last ten seconds, with --once of the time between its two readings. q or Ctrl-C
    ends it. If the server does not answer, the last values stay, with their age. Alerts are those that hold at this
    moment; give --slo-ms as the server has it.

    If standard input or output is no terminal, it acts as with --once. docs/watch.md lists the keys of the JSON
    document.

    Exits with 1 if a single picture was asked for and the URL does not answer.
    """
    console, watch = Console(), Watch(Frame(url), settings, api_key)
    has_keys = sys.stdin is not None and sys.stdin.isatty()
    if has_keys and console.is_terminal and not console.is_dumb_terminal and not any(asked.values()):
        _show(watch, console, every)
        return
    watch.read()
    time.sleep(every)
    watch.read()
    frame = watch.frame
    assert frame.read_at is not None and frame.snapshot is not None
    if asked["json"]:
        click.echo(json.dumps({"url": url, "read_at": frame.read_at.isoformat(), **frame.snapshot.document()}))
    else:
        console.print(_drawn(frame, console))


def _drawn(frame: Frame, console: Console, hint: str = "") -> Group:
    return picture(frame, datetime.now(UTC), console.width, hint)


def _show(watch: Watch, console: Console, every_s: float) -> None:
    """Show the screen until q, Ctrl-C, SIGTERM, or the terminal is gone.

    One thread reads and one of `Live` draws, so that a server that hangs keeps nobody from leaving.
    """
    over = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: sys.exit())
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # the shell would be left with this screen
    live = Live(
        console=console, screen=True, redirect_stdout=False, redirect_stderr=False,
        get_renderable=lambda: _drawn(watch.frame, console, "q quits"),
    )  # fmt: skip
    before = termios.tcgetattr(sys.stdin)
    with suppress(OSError, termios.error):  # where the terminal is gone nothing is left to mend
        try:
            tty.setcbreak(sys.stdin, termios.TCSANOW)
            threading.Thread(target=_read_until, args=(over, watch, every_s), daemon=True).start()
            with live:
                while (pressed := os.read(sys.stdin.fileno(), 64)) and not {*pressed} & {*b"qQ"}:
                    pass
        finally:
            over.set()
            # What was typed meanwhile was for this screen: the shell shall not run it.
            termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def _read_until(over: threading.Event, watch: Watch, every_s: float) -> None:
    next_s = 0.0
    while not over.wait(max(0.0, next_s - time.monotonic())):
        next_s = time.monotonic() + every_s
        try:
            watch.read()
        except ScrapeError as error:
            watch.miss(str(error), datetime.now(UTC))
