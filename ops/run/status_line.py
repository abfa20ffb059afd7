"""One line at the foot of the terminal of `miniserve up`: how much is going on, while nothing is wrong.

Only where a person looks on. The cursor waits at its beginning, so that a warning of a child goes over it and not
behind it. The figures are those of GET /metrics, of the whole system.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from ops.observe import words
from scheduler.settings import Settings, variable

if TYPE_CHECKING:
    from ops.observe.scrape import Scrape

EVERY_S = 2.0
_PATIENCE_S = 0.5  # a dead child is to be started again meanwhile
CLEAR = "\r\x1b[K"


class StatusLine:
    """Draws itself when it is due."""

    def __init__(self, url: str, *, is_wanted: bool, asks_for_key: bool = False, stream: TextIO = sys.stderr) -> None:
        self._url = url
        self._api_key = os.environ.get(variable("api_key"), "")
        self._remedy = f"; with {variable('api_key')} it would" if asks_for_key and not self._api_key else ""
        self._stream = stream
        self._is_shown = is_wanted and stream.isatty()
        self._first: Scrape | None = None
        self._last: Scrape | None = None
        self._due_s = 0.0

    def look(self, longest_s: float) -> float:
        """Draw it if it is due; returns for how long there is nothing to draw, `longest_s` at most."""
        if not self._is_shown:
            return longest_s
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            print(f"{CLEAR}{self._text()}", end="\r", file=self._stream, flush=True)
        return min(longest_s, self._due_s - now_s)

    def _text(self) -> str:
        from ops.observe.scrape import ScrapeError, scrape  # where nobody looks on they are not needed
        from ops.observe.snapshot import snapshot

        try:
            found = scrape(self._url, self._api_key, _PATIENCE_S)
        except ScrapeError:
            return f"  no figures: the API does not answer GET /metrics{self._remedy}"
        self._first, last = self._first or found, self._last or found
        self._last = found
        now = snapshot(last, found, Settings())
        failed = found.since(self._first).total("miniserve_request_failure_total")
        ended_per_s = (now.rates["done_per_s"] or 0.0) + (now.rates["failed_per_s"] or 0.0)
        counts = [words.count(now.queue[name]) for name in ("running", "waiting")]
        return f"  {ended_per_s:,.1f} sentences/s, {counts[0]} running, {counts[1]} waiting, {failed:,.0f} failed"
