"""`miniserve top`: the running system on one screen, from GET /metrics alone. The live screen, one picture, or JSON.

A thread reads, so that a server that hangs keeps nobody from leaving; rich draws the latest frame again and again.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live

from ops.observe.picture import Frame, picture
from ops.observe.scrape import Scrape, ScrapeError, metrics_url, scrape
from ops.observe.snapshot import snapshot
from ops.options import RangedType, option, with_settings
from scheduler.settings import Range, Settings

WINDOW_S = 10.0  # of the live view's rates and percentiles: a second alone holds too few requests for a p99
_DRAWN_PER_S = 4
_SVG_WIDTH = 100


class Watch:
    """Makes a frame of each scrape and of each failure to read."""

    def __init__(self, frame: Frame, settings: Settings, api_key: str = "") -> None:
        self.frame = frame
        self.fault: Exception | None = None
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

    def read_on(self) -> None:
        """For as long as the process lives."""
        try:
            while True:
                began_s = time.monotonic()
                try:
                    self.read()
                except ScrapeError as error:
                    self.miss(str(error), datetime.now(UTC))
                time.sleep(max(0.0, began_s + self.frame.every_s - time.monotonic()))
        except Exception as error:  # a bug: raised once the terminal is restored
            self.fault = error


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

    If standard output is no terminal, it acts as with --once. docs/watch.md lists the keys of the JSON document.

    Exits with 1 if a single picture was asked for and the URL does not answer.
    """
    try:
        metrics_url(url)
    except ScrapeError as error:
        raise click.BadParameter(str(error), param_hint="--url") from None
    console, watch = Console(), Watch(Frame(url, every), settings, api_key)
    if console.is_terminal and not console.is_dumb_terminal and not any(asked.values()):
        _show(watch, console)
        return
    try:
        watch.read()
        time.sleep(every)
        watch.read()
    except ScrapeError as error:
        raise click.ClickException(str(error)) from None
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
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--svg {path} cannot be written: {error.strerror}") from None


class _Suspended(Exception):
    """Ctrl-Z."""


def _raise(error: type[BaseException]) -> Callable[..., None]:
    def handler(*_: object) -> None:
        raise error

    return handler


def _show(watch: Watch, console: Console) -> None:
    """Show the screen until q, Ctrl-C, SIGTERM, or the terminal is gone."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _raise(KeyboardInterrupt))
    signal.signal(signal.SIGTSTP, _raise(_Suspended))
    threading.Thread(target=watch.read_on, name="reader", daemon=True).start()
    while True:
        try:
            with suppress(KeyboardInterrupt):
                _show_until_left(watch, console)
            if watch.fault is not None:
                raise watch.fault
            return
        except _Suspended:
            os.kill(os.getpid(), signal.SIGSTOP)
        except (OSError, termios.error):  # the terminal was closed: there is nothing left to put in order
            return


def _show_until_left(watch: Watch, console: Console) -> None:
    hint = "q quits" if _has_keys() else "Ctrl-C quits"
    with _keys_at_once(), Live(
        console=console, screen=True, refresh_per_second=_DRAWN_PER_S, redirect_stdout=False, redirect_stderr=False,
        get_renderable=lambda: _drawn(watch.frame, console, hint),
    ):  # fmt: skip
        while watch.fault is None and not _is_quit_pressed(1 / _DRAWN_PER_S):
            pass


def _has_keys() -> bool:
    """Standard input may be a file, or closed."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """Standard input key by key and without echo, where it is a terminal; put back at the end."""
    if not _has_keys():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSANOW)
        yield
    finally:
        # What was typed meanwhile was for this screen: the shell shall not run it.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)


def _is_quit_pressed(within_s: float) -> bool:
    """No byte means that the terminal is gone."""
    if not _has_keys():
        time.sleep(within_s)
        return False
    if not select.select([sys.stdin], [], [], within_s)[0]:
        return False
    pressed = os.read(sys.stdin.fileno(), 64)
    return not pressed or bool({*pressed} & {*b"qQ"})
