"""Holds what is known of a text while the model works on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from api.grammar.correction import Note, Part
from api.grammar.reading import Reading
from api.grammar.tokenizer import Prompt
from scheduler.errors import ServingError


@dataclass(slots=True)
class Draft:
    """Holds a sentence and its prompt while the model works on it. Nobody changes it."""

    sentence: str
    plain: str  # as model and rules read it, without marks of emphasis; places are the same
    prompt: Prompt
    start: int  # in the reading of the text, in code points
    asked: float  # by its level: a less confident edit is not made
    min_confidence: float  # nor is one below this, but with a note
    notes: tuple[Note, ...] = ()

    @property
    def least(self) -> float:
        """Return the confidence of the most doubtful edit that is made."""
        return max(self.asked, self.min_confidence)


@dataclass(slots=True)
class TextDraft:
    """Holds a text while the model works on its sentences, each a sequence of its own.

    A long text has thousands of them: they are prepared when they are taken, and only their answers stay.
    """

    reading: Reading
    left: Iterator[Draft] = iter(())  # sentences that are not taken yet
    is_alone: bool = False  # the text is one sentence
    name: str = ""  # what the ids of its sentences have behind that of the request
    num_taken: int = 0
    parts: list[Part] = field(default_factory=list)  # the answers so far
    skipped: list[Note] = field(default_factory=list)  # of sentences that are too long; with places in the reading
    failure: ServingError | None = None  # why it has no answer

    def take(self, most: int | None = None) -> list[Draft]:
        """Prepare so many of the next sentences, or all that are left."""
        sentences = [*islice(self.left, most)]
        self.num_taken += len(sentences)
        return sentences
