"""Bars of characters, as wide as there is room: readable without colour, and in ASCII where that is all there is."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style

_MIN_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """`used` of `limit`; the number stands next to it, so that the bar need not be exact."""

    used: float | None
    limit: float | None
    style: str = "green"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        full, empty = ("#", ".") if options.ascii_only else ("█", "░")
        width = options.max_width
        num_full = self._num_full(width)
        yield Segment(full * num_full, Style.parse(self.style))
        yield Segment(empty * (width - num_full), Style(dim=True))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(_MIN_WIDTH, options.max_width)

    def _num_full(self, width: int) -> int:
        """Full only when full, empty only when empty."""
        if not self.used or not self.limit or self.used <= 0:
            return 0
        if self.used >= self.limit:
            return width
        return min(max(1, round(width * self.used / self.limit)), width - 1)
