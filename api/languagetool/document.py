"""A document as an editor sends it: text, and markup that is not checked.

The model reads the plain text; editors count UTF-16 code units of text and markup together.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from api.grammar.reading import utf16_offsets

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
        originals, plains, begin = [], [], 0
        # By place in the plain text: where its character begins in the original; of markup also where that ends.
        self._starts, self._markup_ends = array("I"), dict[int, int]()
        for original, plain, is_text in parts:
            first, end = len(self._starts), begin + len(original)
            self._starts.extend(range(begin, end) if is_text else [begin] * len(plain))
            if not is_text:
                self._markup_ends |= dict.fromkeys(range(first, len(self._starts)), end)
            originals.append(original)
            plains.append(plain)
            begin = end
        self.original, self.plain = "".join(originals), "".join(plains)
        if _UNUSUAL.search(self.original + self.plain):
            self.original, self.plain = self.original.translate(_HALVES), self.plain.translate(_HALVES | _CONTROLS)
        self.utf16 = utf16_offsets(self.original)

    def span(self, start: int, end: int) -> Span | None:
        """Where [start, end) of the plain text stands in the original; None where all of it is markup."""
        if all(place in self._markup_ends for place in range(start, end)):
            return None
        return Span(self._starts[start], self._markup_ends.get(end - 1, self._starts[end - 1] + 1))
