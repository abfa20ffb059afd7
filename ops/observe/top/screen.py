"""The live screen: redrawn at each reading, each second, and when the terminal changes its size."""

from __future__ import annotations

import termios
from datetime import UTC, datetime

from rich.console import Console
from rich.live import Live

from ops.observe.top.drawing import Picture
from ops.observe.top.terminal import Waker, has_keys, keys_at_once
from ops.observe.top.watch import Reader, Watch

_UNTOUCHED = {"redirect_stdout": False, "redirect_stderr": False}  # nothing else prints here
_LONGEST_WAIT_S = 1.0  # ages on the screen are in seconds


def show(watch: Watch, console: Console) -> None:
    """Show the screen until q, Ctrl-C, SIGTERM, or the terminal is gone."""
    with Waker() as waker:
        reader = Reader(watch, waker.wake)
        reader.start()
        try:
            while not waker.has_to_end:
                _show_until_left(console, watch, reader, waker)
                if waker.has_to_suspend:
                    waker.suspend()
        except (OSError, termios.error):
            if not waker.has_to_end:  # else the terminal was closed: there is nothing left to put in order
                raise


def _show_until_left(console: Console, watch: Watch, reader: Reader, waker: Waker) -> None:
    hint = "q quits" if has_keys() else "Ctrl-C quits"
    with keys_at_once(), Live(console=console, screen=True, auto_refresh=False, **_UNTOUCHED) as live:
        while not (waker.has_to_end or waker.has_to_suspend):
            if reader.fault is not None:
                raise reader.fault
            live.update(Picture(watch.frame, datetime.now(UTC), hint), refresh=True)
            waker.wait(_LONGEST_WAIT_S)
