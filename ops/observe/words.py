"""Numbers as people read them, in as few characters as they need. A value that is not known is a dash."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps


def printable(text: str) -> str:
    """What a server says may hold anything; nothing of it shall move the cursor."""
    return "".join(one if one.isprintable() else "?" for one in text)


def _or_unknown(write: Callable[[float], str]) -> Callable[[float | None], str]:
    """Say what stands in place of a number that is none."""

    @wraps(write)
    def said(value: float | None) -> str:
        if value is None or math.isnan(value):
            return "-"
        return write(value) if math.isfinite(value) else "no end"

    return said


@_or_unknown
def count(value: float) -> str:
    """`1,234`."""
    return f"{value:,.0f}"


@_or_unknown
def number(value: float) -> str:
    """`0.42`, `55.2`, `1,234`: three digits, or all before the point."""
    return "0" if value == 0 else f"{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


@_or_unknown
def rate(value: float) -> str:
    """`41.0/s`, `238/s`, `1,234/s`."""
    return f"{number(value)}/s"


@_or_unknown
def percent(share: float) -> str:
    """`0.4%`, `62%`."""
    return f"{share:.1%}" if share < 0.0995 else f"{share:,.0%}"


@_or_unknown
def seconds(value: float) -> str:
    """`0.42 ms`, `12.3 ms`, `456 ms`, `1.23 s`, `12.3 s`, `5 m 02 s`."""
    if value < 0.9995:
        return f"{number(1e3 * value)} ms"
    return f"{number(value)} s" if value < 99.95 else age(value)


def age(value_s: float) -> str:
    """`12 s`, `5 m 02 s`: in whole seconds, for what is redrawn each second."""
    minutes, rest = divmod(max(0, round(value_s)), 60)
    return f"{minutes:,} m {rest:02} s" if minutes else f"{rest} s"
