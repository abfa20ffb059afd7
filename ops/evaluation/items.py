"""The lines of an evaluation file: `{"sentence", "corrected", "reasons"?}`.

A sentence that equals its correction is a clean one; `reasons` are slugs in order of position.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from api.grammar.reasons import Reason
from ops.evaluation.m2 import read_m2


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an evaluation file."""

    sentence: str
    corrected: str
    reasons: tuple[Reason, ...] | None = None
    kinds: tuple[tuple[str, str], ...] | None = None  # of M2: the kind of each edit, and what it alone would make

    @property
    def is_clean(self) -> bool:
        return self.sentence == self.corrected


_ADAPTER = TypeAdapter(Item)


def read_items(path: Path) -> list[Item]:
    """The items of a file of JSON lines, or of M2 (`.m2`). Raises ValueError naming the line that is none."""
    if path.suffix == ".m2":
        try:
            read = read_m2(path.read_text(encoding="utf-8"))
            return [Item(sentence, corrected, kinds=kinds) for sentence, corrected, kinds in read]
        except ValueError as error:
            raise ValueError(f"{path}, {error}") from None
    lines = path.read_bytes().split(b"\n")
    return [_parse_item(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def write_items(items: Iterable[Item], path: Path) -> None:
    """The same format, written."""
    path.write_bytes(b"".join(_ADAPTER.dump_json(item, exclude_none=True) + b"\n" for item in items))


def _parse_item(line: bytes, path: Path, number: int) -> Item:
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        fault = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise ValueError(f'{path}, line {number}: not {{"sentence", "corrected", "reasons"?}}: {fault}') from None
