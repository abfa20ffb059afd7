"""A document as an editor sends it: text, and markup that is not checked.

The model reads the plain text; editors count UTF-16 code units of text and markup together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# What POST /correct refuses and editors have in their texts: form feeds, NULs, halves of a surrogate pair. Each becomes
# one character, so that all places stay.
_UNUSUAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_HALVES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_CONTROLS = dict.fromkeys([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)], " ")


class Part(NamedTuple):
    """A stretch of a document: text, or markup with what it means to a reader."""

    original: str
    plain: str
    is_text: bool


class Span(NamedTuple):
    """A place in the original, in code points."""

    start: int
    end: int


class Document:
    """Maps places of the plain text to places of the original."""

    def __init__(self, parts: Iterable[Part]) -> None:
        shown = [part for part in parts if part.original or part.plain]
        self.original = "".join([part.original for part in shown])
        self.plain = "".join([part.plain for part in shown])
        if _UNUSUAL.search(self.original + self.plain):
            self.original, self.plain = self.original.translate(_HALVES), self.plain.translate(_HALVES | _CONTROLS)
        begins = accumulate(
            shown, lambda at, part: (at[0] + len(part.plain), at[1] + len(part.original)), initial=(0, 0)
        )
        read = [(begin, part) for begin, part in zip(begins, shown, strict=False) if part.plain]
        self._parts = [part for _, part in read]  # those with plain text, and where each begins
        self._plain_starts = [begin[0] for begin, _ in read]
        self._original_starts = [begin[1] for begin, _ in read]
        self._astral = [match.start() for match in _ASTRAL.finditer(self.original)]

    def span(self, start: int, end: int) -> Span | None:
        """Where [start, end) of the plain text stands in the original; None where all of it is markup."""
        first, last = self._part_at(start), self._part_at(end - 1)
        if not any(part.is_text for part in self._parts[first : last + 1]):
            return None
        return Span(self._original_place(first, start).start, self._original_place(last, end - 1).end)

    def utf16(self, place: int) -> int:
        """The code units in front of a place of the original."""
        return place + bisect_left(self._astral, place)

    def _part_at(self, place: int) -> int:
        return bisect_right(self._plain_starts, place) - 1

    def _original_place(self, number: int, place: int) -> Span:
        """Return the place of one character of the plain text; markup is one place."""
        part, start = self._parts[number], self._original_starts[number]
        if not part.is_text:
            return Span(start, start + len(part.original))
        start += place - self._plain_starts[number]
        return Span(start, start + 1)
