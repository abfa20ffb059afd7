"""One line at the foot of the terminal of `miniserve up`: how much is going on, while nothing is wrong.

Only where a person looks on. The cursor waits at its beginning, so that a warning of a child goes over it and not
behind it. The figures are those of GET /metrics, of the whole system.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from scheduler.settings import variable

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
        self._last: tuple[float, float] | None = None  # when, and how many requests had ended by then
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
        from ops.observe.scrape import ScrapeError, scrape  # where nobody looks on it is not needed

        try:
            found = scrape(self._url, self._api_key, _PATIENCE_S)
        except ScrapeError:
            return f"  no figures: the API does not answer GET /metrics{self._remedy}"
        now_s, ended = time.monotonic(), _ended(found)
        first = self._first = self._first or found
        then_s, before = self._last or (now_s, ended)
        self._last = now_s, ended
        rate_per_s = max(0.0, ended - before) / (now_s - then_s) if now_s > then_s else 0.0
        failed = found.increase("miniserve_request_failure_total", first)
        running, waiting = (found.total(f"miniserve_num_requests_{name}") for name in ("running", "waiting"))
        return f"  {rate_per_s:,.1f} sentences/s, {running:,.0f} running, {waiting:,.0f} waiting, {failed:,.0f} failed"


def _ended(found: Scrape) -> float:
    return found.total("miniserve_request_success_total") + found.total("miniserve_request_failure_total")
