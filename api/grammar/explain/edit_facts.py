"""Holds what an explanation may say about an edit: the verb, its forms, the subject, the word that asks for the form.

A fact that is not certain is None, and the templates then say less. Texts are plain (lower case, straight apostrophes)
unless a comment says that they are as the user wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from api.grammar import word_sets
from api.grammar.explain.subjects import Subject
from api.grammar.reasons import Reason
from api.grammar.verb_words import parts_of, plain
from api.grammar.verbs import VerbForms, regular_ed_spellings


@dataclass(slots=True)
class WordFacts:
    """Holds what follows from the words of an edit alone."""

    num_same: int  # first words left out as both have them: "must leaves" > "must leave" is about 'leaves'
    old: str  # plain text of the replaced words
    new: str  # plain text of the replacement
    head: str  # the part of `new` that carries the verb: 'singing' of 'are singing', 'does' of "doesn't"
    verb: VerbForms | None  # the verb `head` belongs to and `old` was meant for
    capitals: Mapping[str, str]  # plain words that are written with a capital of their own
    not_old: str  # the end of most explanations: 'went', not 'goed'

    @property
    def lemma(self) -> str:
        """Return the base form of the verb; '' where it is not certain."""
        return self.verb.lemma if self.verb else ""


@dataclass(slots=True)
class EditFacts(WordFacts):
    """Adds to the words of an edit the sentence around them."""

    reason: Reason
    before: Sequence[str]  # all words before the edit as the user wrote them, or as earlier edits made them
    after: Sequence[str]  # all words behind the edit
    sentence: str
    expression_before: str | None = None  # 'avoid', 'gave up', 'asked me', 'worth'; only for _WITH_EXPRESSION
    subject: Subject | None = None  # only for _AGREEMENT, and only where it is certain
    agrees: bool = False  # whether the subject asks for the number that the verb has already

    @property
    def not_old_with_ing(self) -> str:
        """Return `not_old` with the -ing form that follows the edit: 'has been working', not 'is working'."""
        ing = plain(self.after[0]) if self.new.endswith(" been") and self.after else ""
        if not ing.endswith("ing"):
            return self.not_old
        return f"'{self.shown(self.new)} {ing}', not '{self.shown(self.old)} {ing}'"

    def shown(self, text: str) -> str:
        """Return the text with the capitals of names and of 'I'."""
        return with_capitals(text, self.capitals)

    @property
    def previous(self) -> str | None:
        """Return the plain word right before the edit."""
        return plain(self.before[-1]) if self.before else None

    @property
    def text_before(self) -> str:
        """Return all words before the edit as plain text."""
        return " ".join(map(plain, self.before))

    def of_verb(self, forms: Collection[str]) -> str:
        """Return " of 'sing'" if the head is one of these forms of the verb, else nothing."""
        return f" of '{self.verb.lemma}'" if self.verb and self.head in forms else ""

    @property
    def of_participle(self) -> str:
        """Return `of_verb` for the past participles."""
        return self.of_verb(self.verb.participles if self.verb else ())

    @property
    def of_ing(self) -> str:
        """Return `of_verb` for the -ing forms."""
        return self.of_verb((self.verb.ing, *self.verb.variants) if self.verb else ())

    @property
    def has_regular_head(self) -> bool:
        """Return whether the head is the regular -ed form of the lemma."""
        return self.verb is not None and self.head in regular_ed_spellings(self.verb.lemma)

    def nearest(self, parts: Collection[str]) -> str | None:
        """Return the closest earlier word that is one of `parts` or begins or ends in one: 'did' finds "didn't"."""
        before = self.before
        at = _place_of(parts, before)
        return None if at is None else _quotable(before[at])

    def auxiliary(self, parts: Collection[str]) -> str | None:
        """Return the same word if it belongs to this verb. A subject between them is allowed in questions only."""
        before = self.before
        at = _place_of(parts, before)
        if at is None:
            return None
        between = list(map(plain, before[at + 1 :]))
        if at == 0 or plain(before[at - 1]) in word_sets.QUESTION_WORDS:
            return None if word_sets.CLAUSE_STARTS.intersection(between) else _quotable(before[at])
        between = between[between[:1] != [] and between[0] in word_sets.SUBJECT_PRONOUNS :]  # "Why, have you seen it?"
        return None if word_sets.PHRASE_STARTS.intersection(between) else _quotable(before[at])

    def phrase(self, pattern: re.Pattern[str]) -> str | None:
        """Quote the first match in the sentence, without the capital that starts the sentence."""
        match = pattern.search(self.sentence.replace("\u2019", "'"))
        if match is None:
            return None
        text = " ".join(match.group().split())
        return _without_capital(text) if match.start() == 0 or text.isupper() else text


def _place_of(parts: Collection[str], words: Sequence[str]) -> int | None:
    for at in reversed(range(len(words))):
        word_parts = parts_of(words[at])
        first, last = word_parts[0], word_parts[-1]
        is_possessive = last == "'s" and first not in word_sets.CONTRACTED_IS
        if first in parts or (last in parts and not is_possessive):
            return at
    return None


def with_capitals(text: str, capitals: Mapping[str, str]) -> str:
    """Return plain text with the capitals of names and of 'I'."""
    return " ".join([capitals.get(word) or _quotable(word) for word in text.split(" ")])


def _quotable(word: str) -> str:
    """Return the plain word with a capital in I, I've and the like."""
    text = plain(word)
    return "I" + text[1:] if parts_of(word)[0] == "i" else text


def _without_capital(text: str) -> str:
    """Return the text as it stands inside a sentence."""
    return text.lower() if text.isupper() else text[0].lower() + text[1:]
