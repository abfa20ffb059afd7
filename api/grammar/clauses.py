"""Cuts a long sentence where a clause ends, as the model is surer of a mistake the less else stands around it."""

from __future__ import annotations

import re
from bisect import bisect_left

from api.grammar import word_sets
from api.grammar.verb_words import VerbWords, parts_of

_LEAST_TO_CUT = 12  # words; a shorter sentence stays whole
_LEAST_WORDS = 5  # on either side of a cut
_PRONOUN = r"(?:i|you|he|she|it|we|they|there)\b"
_SUBJECT = (  # what one may begin with
    rf"(?:{_PRONOUN}|(?:this|that|these|those|the|an?|my|your|his|her|its|our|their|some|many|most|people|each|every|no"
    r"|all|both|one|everyone|everybody|nobody|someone|students|children)\b)"
)
_JOINING = "and|but|so|or|yet|because|although|though|while|whereas|since|if|when|therefore|however|also|thus|then|as"
_CUT = re.compile(  # blanks are read once, however many there are
    rf"(?:[,;:]|\s[-\u2013\u2014])\s++(?=(?:(?:{_JOINING})\s++)*+{_SUBJECT})|;\s++"
    rf"|(?<=\S)\s++(?=(?:and|but|so|because|that)\s++{_PRONOUN})",
    re.IGNORECASE,
)
_BRACKET = re.compile('["()\\[\\]\u201c\u201d]')
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_AUXILIARIES = word_sets.INVERTED_PARTS - {"'s", "'d"}  # "Tom's"
_SUBJECTS = word_sets.SUBJECT_PRONOUNS | {"there", "who"}
_TELLS_THE_PAST = frozenset(["was", "were", "did", "yesterday", "ago"])
_SUBORDINATE = re.compile(
    r"\s*(?:if|when|while|unless|until|before|after|as soon as|by the time|since|once|whenever|although|though)\b",
    re.IGNORECASE,
)
_NO_VERB = word_sets.DETERMINERS | word_sets.PREPOSITIONS | {"to"}  # "the walks", "of use"


def find_clauses(sentence: str, words: VerbWords) -> list[tuple[int, int]]:
    """Return the offsets (start, end) of clauses that can be read alone, in order; one where there is no cut.

    Each has a finite verb and five words at least, and no quotation or bracket is open at a cut. None is cut off from
    what says its tense: an *if* or *when* before it, or a past. What joins two clauses begins the second one; a mark
    between them belongs to neither.
    """
    clauses: list[tuple[int, int]] = []
    start = 0
    if sentence.count(" ") >= _LEAST_TO_CUT - 1 and (cuts := [*_CUT.finditer(sentence)]):
        signs = _Signs(sentence, words)
        for cut in cuts:
            if signs.allow(start, cut.start(), cut.end()) and _SUBORDINATE.match(sentence, start) is None:
                clauses.append((start, cut.start()))
                start = cut.end()
    return [*clauses, (start, len(sentence))]


class _Signs:
    """Knows where in a sentence words, finite verbs and signs of a past are, found in one pass."""

    def __init__(self, sentence: str, words: VerbWords) -> None:
        self._words: list[int] = []
        self._finite: list[int] = []
        self._first_past, self._last_past = len(sentence), -1  # surely one; perhaps one
        before = ""
        for word in _WORD.finditer(sentence):
            at = word.start()
            self._words.append(at)
            for part in parts_of(word[0]):
                forms = words.forms_of(part)
                is_form = "base" not in forms and not forms.isdisjoint(("past", "third"))
                has_subject = before in _SUBJECTS
                if part in _AUXILIARIES or (
                    words.lemmas_of(part) if has_subject else is_form and before not in _NO_VERB
                ):
                    self._finite.append(at)
                if part in _TELLS_THE_PAST or (has_subject and is_form and "past" in forms):
                    self._first_past = min(self._first_past, at)
                if words.may_be_past(part):
                    self._last_past = at
                before = part
        self._marks, self._levels, level = [-1], [0], 0
        for mark in _BRACKET.finditer(sentence):
            level += 1 if mark[0] in "([\u201c" or (mark[0] == '"' and not level) else -1
            self._marks.append(mark.start())
            self._levels.append(level)

    def allow(self, start: int, end: int, further: int) -> bool:
        """Return whether a clause [start, end) may be cut off from what begins at `further`."""
        num_before = bisect_left(self._words, end) - bisect_left(self._words, start)
        num_after = len(self._words) - bisect_left(self._words, further)
        has_verb = bisect_left(self._finite, start) < bisect_left(self._finite, end)
        return (
            min(num_before, num_after) >= _LEAST_WORDS
            and has_verb
            and self._finite[-1] >= further
            and not self._levels[bisect_left(self._marks, end) - 1]
            and (self._first_past >= end or self._last_past >= further)
        )
