"""The lines of an evaluation file: `{"sentence", "corrected", "reasons"?}`.

A sentence that equals its correction is a clean one; `reasons` are slugs in order of position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from api.reasons import Reason


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
    """The items of a file; blank lines are skipped. Raises ValueError naming the line that is none."""
    lines = path.read_text(encoding="utf-8").split("\n")
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
        document = json.loads(line)
        reasons = document.get("reasons")
        parsed = None if reasons is None else tuple(Reason(slug) for slug in reasons)
        sentence, corrected = document["sentence"], document["corrected"]
        if not (isinstance(sentence, str) and isinstance(corrected, str)):
            raise TypeError("`sentence` and `corrected` are texts")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = error.msg if isinstance(error, json.JSONDecodeError) else error  # its own line number counts from here
        raise ValueError(f'{path.name}, line {number}: not {{"sentence", "corrected", "reasons"?}}: {fault}') from None
    return Item(sentence, corrected, parsed)
