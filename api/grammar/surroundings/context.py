"""Holds the words around an edit, as the rules of this package read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.verb_words import VerbWords, plain

_NEAR = 120  # characters that are read on either side
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+|[^\w\s]")
_SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True, slots=True)
class Context:
    """Holds an edit with the words and marks before and behind it, in small letters."""

    sentence: str
    edit: Proposal
    words: VerbWords
    before: Sequence[str]
    after: Sequence[str]
    before_as_written: Sequence[str]

    @classmethod
    def of(cls, sentence: str, edit: Proposal, words: VerbWords) -> Context:
        """Read the sentence around the edit."""
        written = _TOKEN.findall(sentence[max(0, edit.start - _NEAR) : edit.start])
        after = [plain(token) for token in _TOKEN.findall(sentence[edit.end : edit.end + _NEAR])]
        end = next((at for at, token in enumerate(after) if token in _SENTENCE_ENDS), len(after))
        return cls(sentence, edit, words, [plain(token) for token in written], after[:end], written)

    @property
    def clause_before(self) -> Sequence[str]:
        """Return the words before the edit, from the last mark on."""
        start = next((at for at in range(len(self.before), 0, -1) if is_mark(self.before[at - 1])), 0)
        return self.before[start:]

    @property
    def clause_after(self) -> Sequence[str]:
        """Return the words behind the edit, up to the first mark."""
        end = next((at for at, token in enumerate(self.after) if is_mark(token)), len(self.after))
        return self.after[:end]

    def has_form(self, word: str, form: str) -> bool:
        """Return whether the word may be this form of a verb."""
        return form in self.words.forms_of(word)


def is_mark(token: str) -> bool:
    """Return whether the token is a mark, and neither a word nor a number."""
    return not token[0].isalnum()


def is_plural(word: str) -> bool:
    """Return whether the word looks like a plural noun: costs, children; not glass, bus, basis."""
    return word in word_sets.PLURAL_NOUNS or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")))


def without_adverbs(words: Sequence[str]) -> Sequence[str]:
    """Return the words without the adverbs at their end: "they [often]"."""
    end = len(words)
    while end and words[end - 1] in word_sets.ADVERBS:
        end -= 1
    return words[:end]
