"""M2, the form in which corpora of corrected English are shared.

`S` and the sentence in tokens, then a line `A start end|||kind|||correction|||...|||annotator` for each edit. What is
wanted are the first annotator's edits of verb forms: other mistakes stay, as the corrector is to leave them. A token of
punctuation is joined to the word before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What a corpus calls them: ERRANT (R:VERB:SVA, M:VERB:TENSE; W&I, FCE, JFLEG) and NUCLE (SVA, Vform; CoNLL-2014).
_KINDS = {"SVA": "agreement", "TENSE": "tense", "FORM": "form", "INFL": "inflection",
          "Vform": "form", "Vt": "tense", "V0": "form"}  # fmt: skip
_GLUED_TO_THE_LEFT = re.compile(r" ([.,;:!?%)\]}\u2019]|n't|'(?:s|re|ve|ll|d|m|t)\b|\.\.\.)")
_GLUED_TO_THE_RIGHT = re.compile(r"([(\[{$\u2018]) ")


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    correction: str
    kind: str


def read_m2(text: str) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Sentences with their corrections, and the kind of each edit with the sentence that it alone would make.

    Raises ValueError naming the line that is no M2.
    """
    tokens: list[str] | None = None
    edits: list[_Edit] = []
    for number, line in enumerate((*text.split("\n"), ""), start=1):
        if line.startswith("S ") or line == "S":
            tokens, edits = line[2:].split(" "), []
        elif line.startswith("A ") and tokens is not None:
            edits += _edits_of(line, len(tokens), number)
        elif line.strip():
            raise ValueError(f"line {number}: not a line of M2, which begins with 'S ' or 'A '")
        elif tokens is not None:
            kinds = tuple((edit.kind, joined(_applied(tokens, [edit]))) for edit in edits)
            yield joined(tokens), joined(_applied(tokens, edits)), kinds
            tokens = None


def joined(tokens: Sequence[str]) -> str:
    """Tokens as a text: no blank before a mark or the second part of a contraction."""
    text = " ".join(token for token in tokens if token)
    return _GLUED_TO_THE_RIGHT.sub(r"\1", _GLUED_TO_THE_LEFT.sub(r"\1", text))


def _edits_of(line: str, num_tokens: int, number: int) -> list[_Edit]:
    try:
        place, kind, correction, *_, annotator = line[2:].split("|||")
        start, end = map(int, place.split(" "))
    except ValueError:
        raise ValueError(f"line {number}: not 'A start end|||kind|||correction|||...|||annotator'") from None
    family, _, last = kind.rpartition(":")
    name = _KINDS.get(last) if family.endswith("VERB") or not family else None
    if name is None or annotator.strip() != "0":
        return []
    if not 0 <= start <= end <= num_tokens:
        raise ValueError(f"line {number}: the edit is outside its sentence of {num_tokens} tokens")
    return [_Edit(start, end, "" if correction == "-NONE-" else correction, name)]


def _applied(tokens: Sequence[str], edits: Sequence[_Edit]) -> list[str]:
    corrected = list(tokens)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        corrected[edit.start : edit.end] = edit.correction.split(" ")
    return corrected
