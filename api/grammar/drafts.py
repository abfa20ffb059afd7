"""Holds what is known of a text while the model works on it. Nobody changes it."""

from __future__ import annotations

from dataclasses import dataclass

from api.grammar.correction import Note
from api.grammar.reading import Reading
from api.grammar.tokenizer import Prompt


@dataclass(slots=True)
class Draft:
    """Holds a sentence and its prompt while the model works on it."""

    sentence: str
    prompt: Prompt
    start: int  # in the reading of the text, in code points
    min_confidence: float  # edits below it are left out
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class TextDraft:
    """Holds a text while the model works on its sentences, each a sequence of its own."""

    reading: Reading
    sentences: tuple[Draft, ...]
    skipped: tuple[Note, ...]  # of sentences that are too long; with places in the reading
