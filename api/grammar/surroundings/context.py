"""Holds the words around an edit, as the rules of this package read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from api.grammar import word_sets
from api.grammar.memo import memo
from api.grammar.proposals import Proposal
from api.grammar.verb_words import VerbWords, plain

NEAR = 120  # characters that are read on either side
TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+|[^\w\s]")
_SENTENCE_END = re.compile("[.!?]")


class Context:
    """Holds an edit with the words and marks before and behind it, in small letters. Many rules ask for neither."""

    def __init__(self, sentence: str, edit: Proposal, words: VerbWords) -> None:
        self.sentence = sentence
        self.edit = edit
        self.words = words
        self.text_before = sentence[max(0, edit.start - NEAR) : edit.start]
        self.text_after = sentence[edit.end : edit.end + NEAR]
        self._before: Sequence[str] | None = None
        self._after: Sequence[str] | None = None
        self._clause: Sequence[str] | None = None

    @property
    def before_as_written(self) -> Sequence[str]:
        """Return the words and marks before the edit."""
        return TOKEN.findall(self.text_before)

    @property
    def after_as_written(self) -> Sequence[str]:
        """Return those behind it, up to the end of the sentence."""
        return TOKEN.findall(_SENTENCE_END.split(self.text_after, 1)[0])

    @property
    def before(self) -> Sequence[str]:
        """Return them in small letters."""
        if self._before is None:
            self._before = plain_tokens(self.text_before)
        return self._before

    @property
    def after(self) -> Sequence[str]:
        """Return the words and marks behind the edit up to the end of the sentence."""
        if self._after is None:
            self._after = plain_tokens(_SENTENCE_END.split(self.text_after, 1)[0])
        return self._after

    def holds(self, *texts: str) -> bool:
        """Return whether one of the texts stands near the edit. That is known before the words are."""
        near = f"{self.text_before} {self.text_after}".lower()
        return any(text in near for text in texts)

    @property
    def clause_before(self) -> Sequence[str]:
        """Return the words before the edit, from the last mark on."""
        if self._clause is None:
            before = self.before
            start = next((at + 1 for at in range(len(before) - 1, -1, -1) if is_mark(before[at])), 0)
            self._clause = before[start:]
        return self._clause

    @property
    def clause_after(self) -> Sequence[str]:
        """Return the words behind the edit, up to the first mark."""
        for at, token in enumerate(self.after):
            if is_mark(token):
                return self.after[:at]
        return self.after

    def has_form(self, word: str, form: str) -> bool:
        """Return whether the word may be this form of a verb."""
        return form in self.words.forms_of(word)


def plain_tokens(text: str) -> Sequence[str]:
    """Return the words and marks of a text, in small letters."""
    return [*chain.from_iterable(map(_tokens_of, text.split()))]


@memo
def _tokens_of(chunk: str) -> Sequence[str]:
    """Return the words and marks between two blanks, in small letters."""
    return [plain(token) for token in TOKEN.findall(chunk)]


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
