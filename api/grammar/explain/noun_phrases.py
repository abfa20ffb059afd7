"""Reads noun phrases of a few plain shapes: an article and up to three words, names, a quantity, a pronoun.

There is no tagger, so phrases are read greedily up to the next word of a closed class. Words that fit no shape are no
phrase, and the explanations then name none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from api.grammar import word_sets
from api.grammar.verb_words import VerbWords, plain

_LONG_BEGINNINGS = frozenset(text.split()[0] for text in word_sets.LONG_PREPOSITIONS)
_PLURAL_ENDINGS = ("men", "folk", "people", "children")
_MOST_WORDS = 3  # after the article: "the old red car"


class Number(Enum):
    """Says whether a phrase looks singular or plural."""

    SINGULAR = "singular"
    PLURAL = "plural"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Phrase:
    """Holds a phrase and the place of the word after it."""

    words: tuple[str, ...]  # as the user wrote them
    end: int
    number: Number
    is_pronoun: bool = False

    @property
    def plain(self) -> tuple[str, ...]:
        return tuple(map(plain, self.words))


class PhraseReader:
    """Reads the phrase at a place in a clause."""

    def __init__(self, words: VerbWords) -> None:
        self._verbs = words

    def read(self, clause: Sequence[str], start: int) -> Phrase | None:
        """Return the longest phrase that begins at `start`."""
        if start >= len(clause):
            return None
        first = plain(clause[start])
        if first in word_sets.SUBJECT_PRONOUNS or first in word_sets.INDEFINITE_PRONOUNS:
            return Phrase((clause[start],), start + 1, _pronoun_number(first), is_pronoun=True)
        begin = start + (first in word_sets.PREDETERMINERS and _is_determiner(clause, start + 1))
        if first == "every" and [plain(word) for word in clause[start + 1 : start + 2]] == ["one"]:
            return Phrase(tuple(clause[start : start + 2]), start + 2, Number.SINGULAR, is_pronoun=True)
        if _is_determiner(clause, begin):
            return self._with_determiner(clause, start, begin + 1)
        return self._bare(clause, start)

    def _with_determiner(self, clause: Sequence[str], start: int, begin: int) -> Phrase | None:
        if begin < len(clause) and plain(clause[begin]) in word_sets.COUNTS:
            begin += 1  # "the two cars"
        end = self._end_of_content(clause, begin, _MOST_WORDS)
        determiner = plain(clause[begin - 1])
        if end == begin:
            is_alone = determiner in ("this", "that", "these", "those", "each") or determiner in word_sets.AMOUNTS
            number = Number.PLURAL if determiner in word_sets.PLURAL_DETERMINERS else Number.SINGULAR
            return Phrase(tuple(clause[start:end]), end, number, is_pronoun=True) if is_alone else None
        words = clause[start:end]
        nouns = clause[begin:end]
        has_other_subject = any(_is_name(word) and not _is_name(before) for before, word in pairwise(nouns))
        if has_other_subject or any(plain(word) in word_sets.TIME_NOUNS for word in nouns[:-1]):
            return None  # "the book Tom reads", "the day birds sing"
        number = Number.PLURAL if determiner in word_sets.PLURAL_DETERMINERS else _noun_number(words[-1])
        return Phrase(tuple(words), end, number)

    def _bare(self, clause: Sequence[str], start: int) -> Phrase | None:
        end = start
        while end < len(clause) and end - start < _MOST_WORDS and _is_name(clause[end]) and _is_content(clause[end]):
            end += 1
        if end == start:
            end = self._end_of_content(clause, start, 2)
        words = clause[start:end]
        if not words or (len(words) > 1 and plain(words[0]) in word_sets.TIME_NOUNS):
            return None
        number = _noun_number(words[-1])
        if len(words) > 1 and number is not Number.PLURAL and not all(map(_is_name, words)):
            return None  # "young people" is one, "cook dinner" may be anything
        return Phrase(tuple(words), end, number)

    def _end_of_content(self, clause: Sequence[str], start: int, most: int) -> int:
        end = start
        while end < len(clause) and end - start < most and _is_content(clause[end]):
            if end > start and (self._opens_a_modifier(clause, end) or preposition_at(clause, end)):
                break
            end += 1
        return end

    def _opens_a_modifier(self, clause: Sequence[str], at: int) -> bool:
        """Return whether a participle with words of its own begins here: 'standing' of "the man standing there"."""
        return is_participle(self._verbs, clause[at]) and at + 1 < len(clause) and not _is_content(clause[at + 1])


def is_adverb(word: str) -> bool:
    """Return whether the word may stand between a subject and its verb."""
    text = plain(word)
    return text in word_sets.ADVERBS or (
        word.islower() and text.endswith("ly") and len(text) > 4 and text not in word_sets.NOT_ADVERBS
    )


def is_participle(verbs: VerbWords, word: str) -> bool:
    """Return whether the word looks like a participle; a past form looks the same."""
    text = plain(word)
    lemmas = verbs.lemmas_of(text)
    return bool(lemmas) and text not in lemmas and not text.endswith("s")


def preposition_at(words: Sequence[str], at: int) -> int:
    """Return the number of words of the preposition here, 0 if there is none."""
    first = plain(words[at])
    if first not in _LONG_BEGINNINGS:
        return int(first in word_sets.PREPOSITIONS)
    rest = " ".join(map(plain, words[at : at + 3])) + " "
    longest = max((text for text in word_sets.LONG_PREPOSITIONS if rest.startswith(text + " ")), key=len, default="")
    return len(longest.split()) or int(first in word_sets.PREPOSITIONS)


def _is_content(word: str) -> bool:
    text = plain(word)
    return (
        text not in word_sets.CLOSED_CLASS
        and not is_adverb(word)
        and "'" not in text.removesuffix("'s").removesuffix("s'")
    )


def _is_determiner(clause: Sequence[str], at: int) -> bool:
    if at >= len(clause):
        return False
    text = plain(clause[at])
    is_possessive = text.endswith("'s") and text.removesuffix("'s") not in word_sets.CLOSED_CLASS
    return (
        is_possessive
        or text in word_sets.DETERMINERS
        or text in word_sets.PLURAL_DETERMINERS
        or text in word_sets.AMOUNTS
        or text.isdigit()
    )


def _is_name(word: str) -> bool:
    return word[0].isupper() and not word.isupper()


def _pronoun_number(pronoun: str) -> Number:
    if pronoun in word_sets.INDEFINITE_PRONOUNS or pronoun in ("he", "she", "it"):
        return Number.SINGULAR
    return Number.PLURAL  # I and you take the same forms of every verb but 'be'


def _noun_number(noun: str) -> Number:
    text = plain(noun)
    if text in word_sets.PLURAL_NOUNS or text.endswith(_PLURAL_ENDINGS):
        return Number.PLURAL
    if text in word_sets.COLLECTIVE_NOUNS or text.endswith("'") or (_is_name(noun) and text.endswith("s")):
        return Number.UNKNOWN
    if text in word_sets.SINGULAR_NOUNS_IN_S or not text.endswith("s") or text.endswith(("ss", "us", "is")):
        return Number.SINGULAR
    return Number.PLURAL
