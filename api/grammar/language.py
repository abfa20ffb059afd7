"""Judges whether a text seems to be English, how surely, and chooses what an answer says where it does not.

The model finds almost nothing in other languages, and what it finds there is wrong: no edit is made in a sentence that
seems not to be English, and no such text passes as a checked one. The judgement counts words that are frequent in
English and nowhere else, and verb forms, against those that are not English: by the lists of languages.tsv, by a letter
English does not have, or, for half as much, by such a letter in a name or by the shape of a word in small letters. A
short text without a clue passes for English. So do a few sentences of an English text, unless many clues speak against
them: a long text has many that might be taken wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from math import inf
from pathlib import Path
from typing import NamedTuple

from api.grammar.memo import memo
from api.grammar.reading import read
from api.grammar.verbs import VerbTable
from api.grammar.words import without_links

NOTHING_FOUND = "No verb mistakes found; other things are not checked."
NOT_ENGLISH = "The text seems not to be English; only English is checked."
PARTLY_ENGLISH = "Part of the text seems not to be English; only English is checked."

ENGLISH, UNDETERMINED = "en", "und"  # as in BCP 47
_MOST_CONFIDENCE = 0.99  # 220 sentences of ten other languages show no more: none has a clue more for English
_LEAST_DOUBT = 2.0  # of sentences among English ones: one in 2,000 of those is doubted at all, by 0.5
_MOST_CHARACTERS = 1_000  # A long text is judged by its beginning, in 0.1 ms at most.
# At the start these are as often words of another language: "Was kostet das Brot?", "We gaan naar huis".
_SHARED = frozenset("was will me we of so".split())
_ENGLISH_WEIGHT, _BASE_WEIGHT = -1.0, -0.5  # a base form may be a noun of another language: "team", "station"
_OF_NAMES = frozenset("al bin da de del den der des di do dos du la las le los van von y".split())
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
# German, Dutch, Polish, Turkish and Italian groups of letters, endings, and articles before an apostrophe.
_SHAPE = re.compile(
    r".{2,}[aiou]|.*(?:aa|aux|cz|dz|en|eren|eux|heid|ieren|ij|ische?[nrs]?|keit|ler|lar|lich|lijk|rz|sz|tje|ung|uu)"
    r"|.*(?:aar|cz|ijk|iyor|oek|rz|sch(?![eo])|sz|wij|zz[aio]|[^aeiou]j).*"
    r"|(?:all|d|dall|dell|gl|l|n|nell|qu|quest|s|sull|un)'.+"
)


class Language(NamedTuple):
    """Says what a text seems to be, and with which confidence."""

    code: str
    confidence: float

    @property
    def is_english(self) -> bool:
        return self.code == ENGLISH


def nothing_found(language: Language, num_unsure: int = 0) -> str:
    """Return the explanation of a text without edits. `num_unsure` were left out, being less certain than asked."""
    if not language.is_english:
        return NOT_ENGLISH
    if not num_unsure:
        return NOTHING_FOUND
    left_out = "1 edit that is" if num_unsure == 1 else f"{num_unsure} edits that are"
    return f"`min_confidence` left out {left_out} less certain; nothing else was found."


def are_foreign(doubtful: Sequence[str]) -> bool:
    """Return whether sentences among English ones, each of which seems not to be English, surely are not."""
    return any(total >= _LEAST_DOUBT for total in accumulate(map(_doubt, doubtful)))  # a few of many show it


def seems_english(text: str) -> bool:
    """Return whether nothing speaks against English, or as much speaks for it."""
    return _doubt(text) <= 0.0


def language_of(text: str) -> Language:
    """Return the language: each clue more on its side than on the other halves what is left to full confidence.

    Which other language it is, is not known.
    """
    return _judged(_clues(text))


@memo
def _judged(clues: tuple[float, float]) -> Language:
    for_english, against = clues
    doubt = against - for_english if against >= 1 else 0.0
    margin = doubt if doubt > 0.0 else max(0.0, for_english - against)
    confidence = min(_MOST_CONFIDENCE, round(1 - 0.5 ** (1 + margin), 2))
    return Language(UNDETERMINED if doubt > 0.0 else ENGLISH, confidence)


def _doubt(text: str) -> float:
    """Return how much more speaks against English than for it; 0 where hardly anything speaks against it."""
    for_english, against = _clues(text)
    return against - for_english if against >= 1 else 0.0


def _clues(text: str) -> tuple[float, float]:
    """Return how much speaks for English, and how much against it."""
    chunks = read(text[:_MOST_CHARACTERS]).text.split()
    against = 0.0
    for_english = sum(map(_num_english, chunks))  # one call for most texts: 2 us less than lists of all their words
    if for_english == inf:
        words = [*chain.from_iterable(map(_words, chunks))]
        weights = [*map(_weight, words)]
        for_english = -sum([weight for weight in weights if weight < 0.0])
        are_names = for_english > 0.0
        for at, weight in enumerate(weights):
            if weight > 0.0:
                against += 0.5 if at and _is_in_a_name(words[at - 1 : at + 2]) else weight
                are_names = are_names and weight < 1.0 and words[at].istitle()
        if are_names:  # and nothing else: "Jürgen live in Köln"
            against = min(against, for_english)
    if for_english and next(filter(None, map(_words, chunks)))[0].lower() in _SHARED:
        for_english -= 0.5
    return for_english, against


@memo
def _num_english(chunk: str) -> float:
    """Return how many English words stand between two blanks; infinity where one of another language does."""
    weights = [*map(_weight, _words(chunk))]
    return inf if max(weights, default=0.0) > 0.0 else -sum(weights)


@memo
def _words(chunk: str) -> Sequence[str]:
    return _WORD.findall(without_links(chunk).replace("\u2019", "'"))


@memo
def _weight(word: str) -> float:
    """Return how much a word speaks against English; below 0 where it speaks for it."""
    english, foreign, borrowed = _frequent_words()
    small = word.lower()
    if small in english:
        return _ENGLISH_WEIGHT
    if small in borrowed:
        return 0.0
    if small in foreign or not word.isascii() and small == word:
        return 1.0
    if small == word and len(word) > 2 and (verbs := VerbTable.load()).is_form(word):
        return _ENGLISH_WEIGHT if word not in verbs.verbs else _BASE_WEIGHT if len(word) > 3 else 0.0
    return 0.5 if not word.isascii() or small == word and len(word) > 2 and _SHAPE.fullmatch(word) else 0.0


def _is_in_a_name(words: Sequence[str]) -> bool:
    """Return whether the second of three words belongs to a name: "in Los Angeles", "Rio de Janeiro"."""
    return words[-1].istitle() and (words[1].istitle() or (words[0].istitle() and words[1] in _OF_NAMES))


@cache
def _frequent_words() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return those of English, those of other languages, which have none in common with it, and those it borrowed."""
    rows = Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()
    words = {name: frozenset(row.split()) for name, _, row in (row.partition("\t") for row in rows)}
    english, borrowed = words.pop("English"), words.pop("Borrowed")
    return english, frozenset().union(*words.values()), borrowed
