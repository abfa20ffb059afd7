"""The one table printer: columns as wide as their cells, in plain text, the same in a terminal, a file and a test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_WIDTH = 400  # wider than any row: what a terminal cannot hold it wraps itself


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading that begins with > stands at the right, as do its cells. None is a dash. Empty ones make no line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, show_header=any(heading.strip(">") for heading in headings))
    for heading in headings:
        drawn.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    for row in rows:
        cells = ("-" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row)
        drawn.add_row(*map(Text, cells))
    console = Console(width=_WIDTH, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
