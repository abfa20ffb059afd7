"""Numbers as people read them, in as few characters as they need. A value that is not known is a dash."""

from __future__ import annotations

import math


def printable(text: str) -> str:
    """What a server says may hold anything; nothing of it shall move the cursor."""
    return "".join(one if one.isprintable() else "?" for one in text)


def count(value: float | None) -> str:
    """`1,234`; infinity as `no end`."""
    return _unknown(value) if value is None or not math.isfinite(value) else f"{value:,.0f}"


def number(value: float | None) -> str:
    """`0.42`, `55.2`, `1,234`."""
    return _unknown(value) if value is None or not math.isfinite(value) else _digits(value)


def rate(value: float | None) -> str:
    """`41.0/s`, `238/s`, `1,234/s`."""
    if value is None or not math.isfinite(value):
        return _unknown(value)
    return f"{value:,.0f}/s" if value >= 99.95 else f"{value:.1f}/s"


def percent(share: float | None) -> str:
    """`0.4%`, `62%`."""
    if share is None or not math.isfinite(share):
        return _unknown(share)
    return f"{share:.1%}" if share < 0.0995 else f"{share:,.0%}"


def seconds(value: float | None) -> str:
    """`0.42 ms`, `12.3 ms`, `456 ms`, `1.23 s`, `12.3 s`, `5 m 02 s`."""
    if value is None or not math.isfinite(value):
        return _unknown(value)
    if value < 0.9995:
        return f"{_digits(1e3 * value)} ms"
    return f"{_digits(value)} s" if value < 99.95 else age(value)


def age(value_s: float) -> str:
    """`12 s`, `5 m 02 s`: in whole seconds, for what is redrawn each second."""
    minutes, rest = divmod(max(0, round(value_s)), 60)
    return f"{minutes:,} m {rest:02} s" if minutes else f"{rest} s"


def _unknown(value: float | None) -> str:
    """What stands in place of a number that is none."""
    return "-" if value is None or math.isnan(value) else "no end"


def _digits(value: float) -> str:
    """Three, or all before the point."""
    if value == 0:
        return "0"
    return f"{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
