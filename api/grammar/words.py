"""Cuts a sentence into words and numbers them as the model counts them.

`<p1>` in the edit script of the model means "the edit starts at word 1". This module alone decides what a word is, for
the API, the training data and the evaluation. Offsets are Unicode code points into the sentence as it was sent; nothing
is normalised here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A letter may carry combining accents, so that "cafe\u0301" is one word. An apostrophe (straight or curly)
# or a hyphen inside a word belongs to it: "don't" and "well-known" are one word each.
_LETTERS = r"(?:[^\W\d_][\u0300-\u036f]*)+"
# A link, an address, a name with @, and a run of letters and digits that is no word are one word, too. Each pattern
# begins where no character of its own stands before, so that a text without any is looked through once.
_LINK = re.compile(
    r"(?:(?i:https?|ftp)://|(?<!\w)(?i:www)\.)[^\s<>\"]*[\w/]"
    r"|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+|(?<!\w)@\w+"
    r"|(?<![\w+/=.-])[A-Za-z0-9_+/=.-]{39,}[A-Za-z0-9]"
)
_WORD = re.compile(
    rf"(?P<link>{_LINK.pattern})|(?P<word>{_LETTERS}(?:['\u2019-]{_LETTERS})*|\d+(?:[.,:]\d+)*(?:{_LETTERS})?)"
)
_PIECE = re.compile(rf"{_WORD.pattern}|[^\w\s]{{16,}}|[^\w\s]")  # a line drawn with marks is one mark


@dataclass(slots=True)
class Piece:
    """Holds a word or a punctuation mark: `sentence[start:end] == text`."""

    start: int
    end: int
    text: str
    word_number: int | None  # 0-based among words; None for punctuation
    is_link: bool = False  # the model reads a name in its place


def split_pieces(sentence: str) -> tuple[Piece, ...]:
    """Cut a sentence into words and punctuation marks, in order. White space and underscores belong to none."""
    pieces: list[Piece] = []
    next_word = 0
    for match in _PIECE.finditer(sentence):
        is_word = match.lastgroup is not None
        number = next_word if is_word else None
        pieces.append(Piece(match.start(), match.end(), match.group(), number, match.lastgroup == "link"))
        next_word += is_word
    return tuple(pieces)


def count_words(sentence: str) -> int:
    """Count the words without punctuation. It makes no pieces, as texts may be huge."""
    return len(_WORD.findall(sentence))


def without_links(sentence: str) -> str:
    """Return the sentence without what is one word although it has the length of many."""
    return _LINK.sub("", sentence)
