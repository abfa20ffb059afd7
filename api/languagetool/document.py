"""A document as an editor sends it: text, and markup that is not checked.

The model reads the plain text; editors count UTF-16 code units of text and markup together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from api.grammar.sentences import go_on

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
# What POST /correct refuses and editors have in their texts: form feeds, NULs, halves of a surrogate pair. Each becomes
# one character, so that all places stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALF = re.compile("[\ud800-\udfff]")
_STEP_CHARACTERS, _STEP_PARTS = 8192, 1024  # between two pauses: 1 ms at most


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

    def __init__(self, parts: Iterable[Part], pause: Callable[[], None] = go_on) -> None:
        """`pause` is called now and then, for documents may be long."""
        shown = [part for part in parts if part.original or part.plain]
        whole = _steps("".join([part.original for part in shown]), pause)
        self.original = "".join([_HALF.sub("\ufffd", step) for step in whole])
        plain = _steps("".join([part.plain for part in shown]), pause)
        self.plain = "".join([_CONTROL.sub(" ", _HALF.sub("\ufffd", step)) for step in plain])
        self._parts: list[Part] = []  # those with plain text, and where each begins
        self._plain_starts: list[int] = []
        self._original_starts: list[int] = []
        plain_start = original_start = 0
        for number, part in enumerate(shown, start=1):
            if number % _STEP_PARTS == 0:
                pause()
            if part.plain:
                self._parts.append(part)
                self._plain_starts.append(plain_start)
                self._original_starts.append(original_start)
            plain_start += len(part.plain)
            original_start += len(part.original)
        self._astral: list[int] = []  # their places
        for at, step in enumerate(_steps(self.original, pause)):
            self._astral += [at * _STEP_CHARACTERS + match.start() for match in _ASTRAL.finditer(step)]

    @classmethod
    def of_text(cls, text: str, pause: Callable[[], None] = go_on) -> Document:
        return cls([Part(text, text, True)], pause)

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


def _steps(text: str, pause: Callable[[], None]) -> Iterator[str]:
    """The text in pieces, with a pause between them."""
    for at in range(0, len(text), _STEP_CHARACTERS):
        if at:
            pause()
        yield text[at : at + _STEP_CHARACTERS]
