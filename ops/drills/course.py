"""What the drill on alerts has seen: a row for every five seconds, and how far predicted waits were from real ones.

The predicted wait of a request is the latest on /metrics before it was due; its real wait is the `queue` of its
Server-Timing. Both are means over the requests of a window, so that the two speak of the same requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ops.drills.drill import percentile
from ops.drills.inbox import Change
from ops.drills.traffic import Exchange
from ops.load.server_timing import queue_s

WINDOW_S = 5.0
FLOOR_S = 0.002  # waits this close to each other are equal: less than an iteration
BANDS = ((0.0, 0.6), (0.6, 0.8), (0.8, 1.0), (1.0, 9.0))  # shares of capacity
_COLUMNS = "from s  offered  answered   p95 ms  utilization  predicted ms  measured ms  alerts"
_NUM_SUCCESSIVE = 2  # windows; the p95 of a single one is a matter of luck


@dataclass(frozen=True, slots=True)
class Sample:
    """What /metrics showed; seconds since the load began."""

    at_s: float
    utilization: float
    predicted_wait_s: float


@dataclass(frozen=True, slots=True)
class Course:
    """All of one ramp. Times are seconds since the load began."""

    exchanges: Sequence[Exchange]
    samples: Sequence[Sample]
    changes: Sequence[Change]
    started_s: float  # of time.monotonic
    share_at: Callable[[float], float]  # of capacity, as offered
    num_missed: int = 0  # samples that did not come in time

    def due_s(self, exchange: Exchange) -> float:
        return exchange.due_s - self.started_s

    def between(self, begin_s: float, end_s: float) -> list[Exchange]:
        return [one for one in self.exchanges if one.is_ok and begin_s <= self.due_s(one) < end_s]

    def predicted_s(self, exchange: Exchange) -> float | None:
        at = bisect_right(self.samples, self.due_s(exchange), key=lambda sample: sample.at_s)
        return self.samples[at - 1].predicted_wait_s if at else None

    def waits(self, exchanges: Sequence[Exchange]) -> Waits:
        pairs = [(self.predicted_s(one), queue_s(one.server_timing)) for one in exchanges]
        both = [(predicted, real) for predicted, real in pairs if predicted is not None and real is not None]
        num = len(both)
        return Waits(num, *(sum(column) / num for column in zip(*both, strict=True))) if num else Waits()


@dataclass(frozen=True, slots=True)
class Waits:
    """Means over the same requests."""

    num: int = 0
    predicted_s: float = 0.0
    real_s: float = 0.0

    @property
    def off_percent(self) -> float | None:
        """0 where they are closer than the floor; None without requests."""
        if not self.num:
            return None
        difference_s = abs(self.predicted_s - self.real_s)
        return 0.0 if difference_s <= FLOOR_S else round(100 * difference_s / self.real_s, 1) if self.real_s else 100.0


def rows(course: Course, end_s: float) -> list[dict[str, Any]]:
    """One for every window up to `end_s`."""
    return [_row(course, WINDOW_S * number) for number in range(ceil(end_s / WINDOW_S))]


def _row(course: Course, begin_s: float) -> dict[str, Any]:
    end_s = begin_s + WINDOW_S
    exchanges = course.between(begin_s, end_s)
    used = [sample.utilization for sample in course.samples if begin_s <= sample.at_s < end_s]
    waits = course.waits(exchanges)
    changes = [one for one in course.changes if begin_s <= one.at_s - course.started_s < end_s]
    return {
        "from_s": begin_s,
        "offered_share": round(course.share_at(begin_s + WINDOW_S / 2), 3),
        "answered": len(exchanges),
        "p95_ms": percentile([1e3 * one.latency_s for one in exchanges], 95),
        "utilization": round(sum(used) / len(used), 3) if used else None,
        "predicted_wait_ms": round(1e3 * waits.predicted_s, 2),
        "measured_wait_ms": round(1e3 * waits.real_s, 2),
        "alerts": [f"{'+' if one.is_raised else '-'}{one.alert}" for one in changes],
    }


def lines(of_rows: Sequence[dict[str, Any]], of_bands: dict[str, dict[str, Any]]) -> list[str]:
    """The same for people: which alert was raised (+) and cleared (-) in each window, and the waits by load."""
    waits = [f"waits at {band} of capacity: {found}" for band, found in of_bands.items()]
    return [_COLUMNS, *map(_line, of_rows), *waits]


def _line(row: dict[str, Any]) -> str:
    p95, used = row["p95_ms"], row["utilization"]
    return (
        f"{row['from_s']:6.0f}  {row['offered_share']:7.2f}  {row['answered']:8,}"
        f"  {'-' if p95 is None else f'{p95:,.0f}':>7}  {'-' if used is None else f'{used:.2f}':>11}"
        f"  {row['predicted_wait_ms']:12,.1f}  {row['measured_wait_ms']:11,.1f}  {' '.join(row['alerts'])}"
    )


def by_band(course: Course, end_s: float) -> dict[str, dict[str, Any]]:
    """Predicted and measured waits, by how much was offered, until `end_s`."""
    found = {}
    for low, high in BANDS:
        exchanges = [one for one in course.between(0.0, end_s) if low <= course.share_at(course.due_s(one)) < high]
        waits = course.waits(exchanges)
        found[f"{low:g} to {high:g}" if high < 2 else f"over {low:g}"] = {
            "requests": waits.num, "predicted_ms": round(1e3 * waits.predicted_s, 2),
            "measured_ms": round(1e3 * waits.real_s, 2), "off_percent": waits.off_percent,
        }  # fmt: skip
    return found


def doubled_after_s(course: Course, base_s: float, end_s: float) -> tuple[float | None, float | None]:
    """The p95 (ms) of the first `base_s` seconds, and the end of the first window from which on it was twice that."""
    base_ms = percentile([1e3 * one.latency_s for one in course.between(0.0, base_s)], 95)
    if base_ms is None:
        return None, None
    high = [(row["p95_ms"] or 0.0) > 2 * base_ms for row in rows(course, end_s)]
    for number in range(len(high) - _NUM_SUCCESSIVE + 1):
        if all(high[number : number + _NUM_SUCCESSIVE]):
            return base_ms, WINDOW_S * (number + 1)
    return base_ms, None
