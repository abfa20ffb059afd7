"""The changes from one text to another, in words and marks: what an evaluation counts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from api.grammar.words import split_pieces


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Pieces [start, end) of the sentence become these texts."""

    start: int
    end: int
    texts: tuple[str, ...]

    def touches(self, other: TextEdit) -> bool:
        """Whether the two change a common piece; an insertion touches the pieces on both sides of it."""
        return self._first < other._last and other._first < self._last

    @property
    def _first(self) -> int:
        return self.start - (self.start == self.end)

    @property
    def _last(self) -> int:
        return self.end + (self.start == self.end)


def find_edits(sentence: str, corrected: str) -> list[TextEdit]:
    """The changes from one text to the other, in words and marks; white space does not count."""
    old = [piece.text for piece in split_pieces(sentence)]
    new = [piece.text for piece in split_pieces(corrected)]
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return [
        TextEdit(start, end, tuple(new[new_start:new_end]))
        for kind, start, end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    ]
