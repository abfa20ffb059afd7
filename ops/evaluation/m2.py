"""M2, the form in which corpora of corrected English are shared.

`S` and the sentence in tokens, then a line `A start end|||kind|||correction|||...|||annotator` for each edit. The
first annotator's edits are what is wanted; a token of punctuation is joined to the word before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_NO_EDITS = frozenset(("noop", "UNK", "Um"))
_GLUED_TO_THE_LEFT = re.compile(r" ([.,;:!?%)\]}\u2019]|n't|'(?:s|re|ve|ll|d|m|t)\b|\.\.\.)")
_GLUED_TO_THE_RIGHT = re.compile(r"([(\[{$\u2018]) ")


def read_m2(text: str) -> Iterator[tuple[str, str]]:
    """Sentences with their corrections. Raises ValueError naming the line that is no M2."""
    tokens: list[str] | None = None
    edits: list[tuple[int, int, str]] = []
    for number, line in enumerate((*text.split("\n"), ""), start=1):
        if line.startswith("S ") or line == "S":
            tokens, edits = line[2:].split(" "), []
        elif line.startswith("A ") and tokens is not None:
            edits += _edits_of(line, len(tokens), number)
        elif line.strip():
            raise ValueError(f"line {number}: not a line of M2, which begins with 'S ' or 'A '")
        elif tokens is not None:
            yield joined(tokens), joined(_applied(tokens, edits))
            tokens = None


def joined(tokens: Sequence[str]) -> str:
    """Tokens as a text: no blank before a mark or the second part of a contraction."""
    text = " ".join(token for token in tokens if token)
    return _GLUED_TO_THE_RIGHT.sub(r"\1", _GLUED_TO_THE_LEFT.sub(r"\1", text))


def _edits_of(line: str, num_tokens: int, number: int) -> list[tuple[int, int, str]]:
    try:
        place, kind, correction, *_, annotator = line[2:].split("|||")
        start, end = map(int, place.split(" "))
    except ValueError:
        raise ValueError(f"line {number}: not 'A start end|||kind|||correction|||...|||annotator'") from None
    if kind in _NO_EDITS or annotator.strip() != "0":
        return []
    if not 0 <= start <= end <= num_tokens:
        raise ValueError(f"line {number}: the edit is outside its sentence of {num_tokens} tokens")
    return [(start, end, "" if correction == "-NONE-" else correction)]


def _applied(tokens: Sequence[str], edits: Sequence[tuple[int, int, str]]) -> list[str]:
    corrected = list(tokens)
    for start, end, correction in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        corrected[start:end] = correction.split(" ")
    return corrected
