"""A document as an editor sends it: text, and markup that is not checked.

The model reads the plain text; editors count UTF-16 code units of text and markup together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# What POST /correct refuses and editors have in their texts: form feeds, NULs, halves of a surrogate pair. Each becomes
# one character, so that all places stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALF = re.compile("[\ud800-\udfff]")


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
        self.original = _HALF.sub("\ufffd", "".join([part.original for part in shown]))
        self.plain = _CONTROL.sub(" ", _HALF.sub("\ufffd", "".join([part.plain for part in shown])))
        self._parts: list[Part] = []  # those with plain text, and where each begins
        self._plain_starts: list[int] = []
        self._original_starts: list[int] = []
        plain_start = original_start = 0
        for part in shown:
            if part.plain:
                self._parts.append(part)
                self._plain_starts.append(plain_start)
                self._original_starts.append(original_start)
            plain_start += len(part.plain)
            original_start += len(part.original)
        self._astral = [match.start() for match in _ASTRAL.finditer(self.original)]

    @classmethod
    def of_text(cls, text: str) -> Document:
        return cls([Part(text, text, True)])

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
