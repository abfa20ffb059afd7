"""The live table: a line for each drill as it ends, and below it what it missed; and the table for the document."""

from __future__ import annotations

from typing import Any

from ops.drills.drill import Check, Result

_COLUMNS = (
    ("drill", 16), ("requests", 8), ("lost", 5), ("twice", 5), ("wrong", 5), ("refused", 7), ("added p99", 10),
    ("max", 10), ("conserved", 9), ("passed", 6),
)  # fmt: skip


def header() -> str:
    return _row([name for name, _ in _COLUMNS]) + "   bar"


def rows(result: Result) -> str:
    """One line, one more for every check that was not met, and what else the drill has to show."""
    tally = result.tally
    counts = [tally.requests, tally.lost, tally.duplicated, tally.wrong, tally.refused]
    cells = [result.name, *(f"{count:,}" for count in counts), _ms(tally.added_p99_ms), _ms(tally.max_ms)]
    cells += [result.conservation if len(result.conservation) < 9 else "NO", "yes" if result.has_passed else "NO"]
    missed = [f"{'':18}{_words(check)}" for check in result.checks if not check.is_met]
    return "\n".join([f"{_row(cells)}   {result.bar}", *missed, *result.lines])


def _row(cells: list[str]) -> str:
    padded = [
        f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
        for number, (cell, (_, width)) in enumerate(zip(cells, _COLUMNS, strict=True))
    ]
    return " ".join(padded)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _words(check: Check) -> str:
    return f"{check.what}: {check.value}, asked {check.bar}"


def markdown(document: dict[str, Any]) -> list[str]:
    """Where and when the file of `--json` was made, and a row for each of its drills."""
    machine = f"commit {document['commit']}, {document['machine']['cpu']}, {document['form']} form"
    return [f"{document['date']}, {machine}", *map(_markdown_row, document["drills"])]


def _markdown_row(drill: dict[str, Any]) -> str:
    figures = [f"{check['what']} {check['value']}" for check in drill["checks"]]
    words = f"{drill['requests']:,} requests; {'; '.join(figures)}"
    return f"| `{drill['name']}` | {drill['bar']} | {words} | {'yes' if drill['passed'] else 'no'} |"
