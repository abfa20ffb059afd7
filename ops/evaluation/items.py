"""The lines of an evaluation file: `{"sentence", "corrected", "reasons"?}`.

A sentence that equals its correction is a clean one; `reasons` are slugs in order of position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from api.grammar.reasons import Reason
from ops.evaluation.formats import read_m2, read_table

_READERS = {".m2": read_m2, ".tsv": read_table}


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an evaluation file."""

    sentence: str
    corrected: str
    reasons: tuple[Reason, ...] | None = None

    @property
    def is_clean(self) -> bool:
        return self.sentence == self.corrected


def read_items(path: Path) -> list[Item]:
    """The items of a file, M2 (`.m2`), two columns (`.tsv`) or JSON lines; blank lines are skipped.

    Raises ValueError naming the line that is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8") from None
    if path.suffix in _READERS:
        try:
            return [Item(sentence, corrected) for sentence, corrected in _READERS[path.suffix](text)]
        except ValueError as error:
            raise ValueError(f"{path}, {error}") from None
    lines = text.split("\n")
    return [_parse_item(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def write_items(items: Iterable[Item], path: Path) -> None:
    """The same format, written."""
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            document = {"sentence": item.sentence, "corrected": item.corrected}
            reasons = {} if item.reasons is None else {"reasons": [reason.value for reason in item.reasons]}
            file.write(json.dumps(document | reasons, ensure_ascii=False) + "\n")


def _parse_item(line: str, path: Path, number: int) -> Item:
    try:
        return _as_item(json.loads(line))
    except ValueError as error:
        fault = error.msg if isinstance(error, json.JSONDecodeError) else error  # its own line number counts from here
        raise ValueError(f'{path}, line {number}: not {{"sentence", "corrected", "reasons"?}}: {fault}') from None


def _as_item(document: object) -> Item:
    if not isinstance(document, dict):
        raise ValueError("write an object in {}")
    sentence, corrected, reasons = (document.get(name) for name in ("sentence", "corrected", "reasons"))
    if not (isinstance(sentence, str) and isinstance(corrected, str)):
        raise ValueError("`sentence` and `corrected` must be there and be texts")
    if reasons is None:
        return Item(sentence, corrected)
    slugs = {reason.value: reason for reason in Reason}
    if not isinstance(reasons, list) or not all(isinstance(slug, str) for slug in reasons):
        raise ValueError("`reasons` must be a list of texts")
    if unknown := [slug for slug in reasons if slug not in slugs]:
        raise ValueError(f"no reason is called {unknown[0]!r}; docs/reference.md has the table of them")
    return Item(sentence, corrected, tuple(slugs[slug] for slug in reasons))
