"""Cuts a long sentence where a clause ends, as the model is surer of a mistake the less else stands around it.

In doubt there is no cut: a clause that is cut off from its subject, or from what says its tense, is mended wrongly.
"""

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
_JOINING = "and|but|so|or|yet|because|although|though|while|whereas|therefore|however|also|thus|then"
_CUT = re.compile(
    # ", and the old man", ", they"; not ", I think,"
    rf"(?:[,:]|\s[-\u2013\u2014])\s++(?=(?:(?:{_JOINING})\s++)++{_SUBJECT}|{_PRONOUN}(?! \w+,))"
    # "; the old man", " because they": blanks are read once, however many there are
    rf"|;\s++|(?<=\S)\s++(?=(?:but|so|because)\s++{_PRONOUN})",
    re.IGNORECASE,
)
_SET_APART = re.compile('["()\\[\\]<>*_`\u00ab\u00bb\u2018\u201c\u201d]')  # quotations, brackets, emphasis
_SUBORDINATE = re.compile(  # what the clause behind it hangs on
    r"(?:\A|[,;:]|\s[-\u2013\u2014])\s*+(?:(?:and|but|so|or|yet|that|even|only|just|because|then)\s++)*+"
    r"(?:if|let|when(?:ever)?|while|unless|until|before|after|as|by the time|in case|provided|since|once|(?:al)?though)"
    r"\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?|\d+")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_AUXILIARIES = word_sets.INVERTED_PARTS - {"'s", "'d"}  # "Tom's"
_BEFORE_PARTICIPLES = word_sets.BE_PARTS | word_sets.HAVE_PARTS
_RELATIVES = frozenset("who whom whose which that".split())
_SUBJECTS = word_sets.SUBJECT_PRONOUNS | {"there", "who"}
_PAST_WORDS = frozenset(["was", "were", "did", "had", "yesterday", "ago", "last"])
_NO_VERB = word_sets.DETERMINERS | word_sets.PREPOSITIONS | {"to"}  # "the walks", "of use"


def find_clauses(sentence: str, words: VerbWords) -> list[tuple[int, int]]:
    """Return the offsets (start, end) of clauses that can be read alone, in order; one where there is no cut.

    Each has a finite verb and five words at least. None is cut off from an *if* or *when* before it, nor one in the
    present from a past. A sentence with quotations, brackets or marks of emphasis stays whole. What joins two clauses
    begins the second one; a mark between them belongs to neither.
    """
    clauses: list[tuple[int, int]] = []
    start = 0
    if sentence.count(" ") >= _LEAST_TO_CUT - 1 and (cuts := [*_CUT.finditer(sentence)]):
        signs = _Signs(sentence, words)
        for cut in cuts if _SET_APART.search(sentence) is None else ():
            if signs.allow(start, cut.start(), cut.end()):
                clauses.append((start, cut.start()))
                start = cut.end()
    return [*clauses, (start, len(sentence))]


class _Signs:
    """Knows where in a sentence words, finite verbs and pasts are, found in one pass."""

    def __init__(self, sentence: str, words: VerbWords) -> None:
        self._words: list[int] = []
        self._finite: list[int] = []
        self._past: list[int] = []
        self._relatives: list[int] = []
        self._subordinate = [found.end() for found in _SUBORDINATE.finditer(sentence)]
        before = ""
        for word in _WORD.finditer(sentence):
            at = word.start()
            self._words.append(at)
            for part in parts_of(word[0]):
                forms = words.forms_of(part)
                is_form = part[0] != "'" and "base" not in forms and not forms.isdisjoint(("past", "third"))
                is_form &= before not in _NO_VERB and before not in _BEFORE_PARTICIPLES
                if part in _AUXILIARIES or is_form or (before in _SUBJECTS and words.lemmas_of(part)):
                    self._finite.append(at)
                if (is_form and "past" in forms) or part in _PAST_WORDS or _YEAR.fullmatch(part):
                    self._past.append(at)
                if part in _RELATIVES:
                    self._relatives.append(at)
                before = part

    def allow(self, start: int, end: int, further: int) -> bool:
        """Return whether a clause [start, end) may be cut off from what begins at `further`."""
        num_before = bisect_left(self._words, end) - bisect_left(self._words, start)
        num_after = len(self._words) - bisect_left(self._words, further)
        num_verbs = bisect_left(self._finite, end) - bisect_left(self._finite, start)
        num_relatives = bisect_left(self._relatives, end) - bisect_left(self._relatives, start + 1)
        is_of_the_past = bool(self._past) and self._past[0] < end <= further <= self._past[-1]
        is_of_no_past = not self._past or self._past[0] >= end
        return (
            min(num_before, num_after) >= _LEAST_WORDS
            and num_verbs > num_relatives  # one of the clause itself: "My aunt who lives here [, and she]"
            and self._finite[-1] >= further
            and bisect_left(self._subordinate, start) == bisect_left(self._subordinate, end)
            and (is_of_the_past or is_of_no_past)
        )
