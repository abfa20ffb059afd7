"""Tables of cases: files of tests/tables, a case a line. The first line says what the columns hold."""

from __future__ import annotations

import csv
from pathlib import Path

_FOLDER = Path(__file__).with_name("tables")


def table(name: str) -> list[tuple[str, ...]]:
    """The rows of a file."""
    with (_FOLDER / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [tuple(row) for row in rows]
