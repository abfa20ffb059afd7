"""The figures of a drill, and what is asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import contains, eq, ge, le
from typing import Any

from ops.load.measurements import percentile
from ops.load.traffic import Exchange

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One figure and what is asked of it."""

    what: str
    value: Any
    bar: str
    is_met: bool


_MEETS: dict[str, Callable[[Any, Any], bool]] = {"<=": le, ">=": ge, "=": eq, "says": contains}


@dataclass(frozen=True, slots=True)
class Bar:
    """What is asked of one of the figures; one that was not found meets no bar."""

    what: str
    figure: str  # its name; NAME/NAME for one within another
    asks: str  # <=, >=, =, or says: something in these words
    limit: Any
    of: str = ""  # another figure: the limit is a share of it,
    more: float = 0.0  # and so much more

    def check(self, figures: Figures) -> Check:
        limit = self.limit * (_figure(figures, self.of) or 0.0) + self.more if self.of else self.limit
        value = _figure(figures, self.figure)
        words = f"{self.asks} {limit:g}" if isinstance(limit, float | int) else f"{self.asks} {limit}"
        return Check(self.what, value, words, value is not None and _MEETS[self.asks](value, limit))


def _figure(figures: Figures, name: str) -> Any:
    """None where it was not found."""
    found: Any = figures
    for key in name.split("/"):
        found = found.get(key)
        if found is None:
            break
    return found


NOTHING_LOST = tuple(Bar(name, name, "=", 0) for name in ("lost", "duplicated", "wrong"))


def answers_per_s(exchanges: Sequence[Exchange]) -> float:
    """Between the first tenth and the last: without the filling and the emptying of the batch."""
    ends = sorted(exchange.ended_s for exchange in exchanges if exchange.is_ok)
    middle = ends[len(ends) // 10 : len(ends) - len(ends) // 10]
    return (len(middle) - 1) / (middle[-1] - middle[0]) if middle and middle[-1] > middle[0] else 0.0


def latency_ms(exchanges: Sequence[Exchange], percent: float) -> float | None:
    """Of those that were answered."""
    return percentile([1e3 * one.latency_s for one in exchanges if one.is_ok], percent)


def figures_of(ended: Sequence[Exchange], num_clients: int = 0) -> Figures:
    """What became of the requests of one load, of so many clients in a closed loop."""
    # The first requests of these come at one moment.
    first = [1e3 * one.refusals[0][0] for one in ended if one.refusals and one.number < num_clients]
    later = [1e3 * said_s for one in ended for said_s, _ in one.refusals[one.number < num_clients :]]
    refused = [one for one in ended if one.refusals]
    return {
        "requests": len(ended),
        "refused": sum(len(one.refusals) for one in refused),
        "per_s": round(answers_per_s(ended), 1),
        **{f"{name}_ms": latency_ms(ended, percent) for name, percent in (("p50", 50), ("p99", 99), ("max", 100))},
        "refusals_p50_ms": percentile(later, 50), "refusals_p99_ms": percentile(later, 99),
        "first_refusals": len(first), "first_refusals_p99_ms": percentile(first, 99),
        "admitted_share": round(sum(one.is_ok for one in refused) / len(refused), 3) if refused else None,
        "statuses": dict(sorted(Counter(str(one.status) for one in ended).items())),
        "lost_by": dict(Counter(one.slug for one in ended if not one.is_ok)),
    }  # fmt: skip
