"""Readings of a server, one after the other, and what is to be shown after each.

A thread reads, so that a server that hangs keeps nobody from leaving. Each frame is a finished value: the screen takes
the latest one, whenever it likes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ops.observe.scrape import ScrapeError, scrape
from ops.observe.top.view import Reading, View, view_of
from scheduler.settings import Settings

WINDOW_S = 10.0  # of the live view's rates and percentiles: a second alone holds too few requests for a p99


@dataclass(frozen=True, slots=True)
class Frame:
    """What is known now: the last values, and since when the server is away, if it is."""

    url: str
    every_s: float
    view: View | None = None
    read_at: datetime | None = None
    away_since: datetime | None = None
    why: str = ""


class Watch:
    """Makes a frame of each reading and of each failure to read. Knows no clock and no network."""

    def __init__(self, url: str, every_s: float, settings: Settings, api_key: str = "") -> None:
        self.api_key = api_key
        self.frame = Frame(url, every_s)
        self._settings = settings
        self._readings: deque[Reading] = deque()

    def add(self, reading: Reading, now: datetime) -> None:
        """The window reaches back to the latest reading that is at least WINDOW_S old."""
        self._readings.append(reading)
        while len(self._readings) > 2 and self._readings[1].at_s <= reading.at_s - WINDOW_S:
            self._readings.popleft()
        view = view_of(self._readings[0], reading, self._settings)
        self.frame = replace(self.frame, view=view, read_at=now, away_since=None, why="")

    def miss(self, why: str, now: datetime) -> None:
        """The server did not answer: the last values stay."""
        self.frame = replace(self.frame, away_since=self.frame.away_since or now, why=why)


class Reader(threading.Thread):
    """Reads every `every_s` seconds for as long as the process lives."""

    def __init__(self, watch: Watch, on_change: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="reader")  # nobody waits for its last answer
        self.fault: Exception | None = None
        self._watch, self._on_change = watch, on_change

    def run(self) -> None:
        try:
            while True:
                self._read_once()
        except Exception as error:  # a bug: the screen raises it once the terminal is restored
            self.fault = error
            self._on_change()

    def _read_once(self) -> None:
        began_s = time.monotonic()
        try:
            self._watch.add(read(self._watch), datetime.now(UTC))
        except ScrapeError as error:
            self._watch.miss(str(error), datetime.now(UTC))
        self._on_change()
        time.sleep(max(0.0, began_s + self._watch.frame.every_s - time.monotonic()))


def read(watch: Watch) -> Reading:
    """Raises ScrapeError."""
    at_s = time.monotonic()
    return Reading(at_s, scrape(watch.frame.url, watch.api_key))


def read_twice(watch: Watch) -> Frame:
    """The figures of `every_s` seconds, beginning now. Raises ScrapeError."""
    watch.add(read(watch), datetime.now(UTC))
    time.sleep(watch.frame.every_s)
    watch.add(read(watch), datetime.now(UTC))
    return watch.frame
