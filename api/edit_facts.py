"""What an explanation may say about one edit: the verb, its forms, the subject, the word that asks for the form.

Every fact is looked up in the verb table or stands in the sentence; what cannot be told for certain is None, and the
templates then say less. Texts are plain (lower case, straight apostrophes) unless they are words of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from api.reasons import Reason
from api.verb_words import NEGATIONS, VerbWords, parts_of, plain
from api.verbs import VerbForms, regular_ed_spellings
from api.word_sets import (
    AFTER_A_NOUN,
    CERTAIN_SUBJECTS,
    CLAUSE_OPENERS,
    CONTRACTED_IS,
    DETERMINERS,
    INVERTED,
    NEGATED_TRIGGERS,
    NO_SUBJECTS,
    PARTICLES,
    QUANTIFIERS,
)

_BE = VerbForms("be", "is", "being", ("was", "were"), ("been",), is_irregular=True, count=0)


@dataclass(frozen=True, slots=True)
class EditFacts:
    """One applied edit and what surrounds it."""

    reason: Reason
    old: str  # plain text of the replaced words
    new: str  # plain text of the replacement
    head: str  # the part of `new` that carries the verb: 'singing' of 'are singing', 'does' of "doesn't"
    verb: VerbForms | None  # the verb `head` belongs to and `old` was meant for
    before: tuple[str, ...]  # all words before the edit, as the user wrote them
    after: tuple[str, ...]
    sentence: str
    verb_before: str | None  # what stands right before the edit, if a verb: 'avoid', 'gave up', "can't help"

    @property
    def not_old(self) -> str:
        """The end of many a template."""
        return f"'{self.new}', not '{self.old}'"

    @property
    def previous(self) -> str | None:
        """The word right before the edit, plain."""
        return plain(self.before[-1]) if self.before else None

    @property
    def has_regular_head(self) -> bool:
        """True if the head is what the rule makes of the lemma."""
        return self.verb is not None and self.head in regular_ed_spellings(self.verb.lemma)

    def nearest(self, parts: Collection[str]) -> str | None:
        """The closest earlier word that is one of `parts` or begins or ends in one: "didn't" is found by 'did'."""
        for word in reversed(self.before):
            first, last = parts_of(word)[0], parts_of(word)[-1]
            is_possessive = last == "'s" and first not in CONTRACTED_IS
            if first in parts or (last in parts and not is_possessive):
                return _quotable(word)
        return None

    def phrase(self, pattern: re.Pattern[str]) -> str | None:
        """The first match in the sentence, as a quotation: no capital from the start of the sentence."""
        match = pattern.search(self.sentence.replace("\u2019", "'"))
        if match is None:
            return None
        text = " ".join(match.group().split())
        return _without_capital(text) if match.start() == 0 or text.isupper() else text

    def subject(self) -> str | None:
        """The subject, only where position or case leave no doubt about it."""
        if self.before and self._is_pronoun_subject():
            word = plain(self.before[-1])
            return "I" if word == "i" else word
        if self.after and self.head in INVERTED and plain(self.after[0]) in CERTAIN_SUBJECTS:
            follows = plain(self.after[0])  # a question: "Do she like it?"
            return "I" if follows == "i" else follows
        return self._noun_after_there() or self._noun_at_the_start()

    def _is_pronoun_subject(self) -> bool:
        word, earlier = plain(self.before[-1]), [plain(other) for other in self.before[:-1]]
        if word in ("it", "you"):
            return not earlier or earlier[-1] in CLAUSE_OPENERS
        return word in CERTAIN_SUBJECTS and (not earlier or earlier[-1] not in ("and", "or", "nor"))

    def _noun_at_the_start(self) -> str | None:
        words = [plain(word) for word in self.before]
        is_bare = len(words) == 1 and words[0] not in NO_SUBJECTS and not words[0].endswith("ly")
        if is_bare or (len(words) == 2 and words[0] in DETERMINERS and not words[1].endswith("ly")):
            phrase = " ".join(self.before)
            return phrase if is_bare else _without_capital(phrase)
        return None

    def _noun_after_there(self) -> str | None:
        """'many people' of "There is many people here": a quantifier and a noun that ends in plain sight."""
        if self.previous != "there" and (not self.after or plain(self.after[0]) != "there"):
            return None
        words = self.after if self.previous == "there" else self.after[1:]
        if len(words) < 2 or plain(words[0]) not in QUANTIFIERS:
            return None
        has_ended = len(words) == 2 or plain(words[2]) in AFTER_A_NOUN
        phrase = " ".join(words[:2]).lower()
        return phrase if has_ended and phrase in " ".join(self.sentence.lower().split()) else None


def _quotable(word: str) -> str:
    """Plain, but for the capital of I, I've and the like."""
    text = plain(word)
    return "I" + text[1:] if parts_of(word)[0] == "i" else text


def _without_capital(text: str) -> str:
    """As it would stand inside a sentence."""
    return text.lower() if text.isupper() else text[0].lower() + text[1:]


class FactFinder:
    """Gathers the facts of an edit from the verb table and the sentence."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words

    def find(self, sentence: str, words: Sequence[str], first: int, edit: EditWords) -> EditFacts:
        """`words` are all words of the sentence, `first` is where the edit starts among them."""
        old, new = list(map(plain, edit.old)), list(map(plain, edit.new))
        last = first + len(old)
        while len(old) > 1 and len(new) > 1 and old[0] == new[0]:  # "must leaves" -> "must leave" is about 'leaves'
            old, new, first = old[1:], new[1:], first + 1
        facts = EditFacts(
            edit.reason, " ".join(old), " ".join(new), head=parts_of(new[-1])[0], verb=None,
            before=tuple(words[:first]), after=tuple(words[last:]), sentence=sentence,
            verb_before=self._verb_at_the_end([plain(word) for word in words[:first]]),
        )  # fmt: skip
        return replace(facts, verb=self._verb(facts, old))

    def _verb_at_the_end(self, words: Sequence[str]) -> str | None:
        """The verb that these words end in, with its particle, or with 'can't' where it means nothing without it."""
        start = len(words) - 1
        if start > 0 and words[start] in PARTICLES and self._is_verb(words[start - 1]):
            start -= 1
        elif start < 0 or words[start] == "up" or not self._is_verb(words[start]):  # the table knows 'up' as a verb
            return None
        if start > 0 and words[start] in NEGATED_TRIGGERS and parts_of(words[start - 1])[-1] in NEGATIONS:
            start -= 2 if words[start - 1] == "not" and start > 1 else 1
        return " ".join(words[start:])

    def _is_verb(self, word: str) -> bool:
        return self._words.is_right_form(parts_of(word)[0])

    def _verb(self, facts: EditFacts, old: Sequence[str]) -> VerbForms | None:
        parts = [part for word in old for part in parts_of(word)]
        sources = [self._words.lemmas_of(part) | self._words.misspelled_lemmas(part) for part in parts]
        lemmas = self._words.lemmas_of(facts.head) & frozenset().union(*sources)
        table = self._words.verbs.verbs
        verbs = [_BE if lemma == "be" else table[lemma] for lemma in lemmas if lemma == "be" or lemma in table]
        return max(verbs, key=lambda verb: (verb.count, verb.lemma), default=None)


@dataclass(frozen=True, slots=True)
class EditWords:
    """The words an edit takes away and puts in, and why."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    reason: Reason
