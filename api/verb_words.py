"""Words of a sentence as the guard and the explanations see them: contractions cut up, each part with its lemmas.

Knows three things the verb table does not: auxiliaries (modals, contracted ones), the parts of "doesn't" or "they're",
and misspelled regular forms (planed, carryed, writeing), which lead to their verb by the rules of English spelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from api.verbs import VerbTable

# What is left of an auxiliary in a contraction, or an auxiliary itself, and the verbs it may stand for.
_AUXILIARIES = {
    **dict.fromkeys(("be", "am", "is", "are", "was", "were", "been", "being", "'m", "'re"), ("be",)),
    **dict.fromkeys(("have", "has", "had", "having", "'ve"), ("have",)),
    **dict.fromkeys(("do", "does", "did"), ("do",)),
    **dict.fromkeys(("will", "would", "'ll", "wo"), ("will",)),
    **dict.fromkeys(("can", "could", "ca"), ("can",)),
    **dict.fromkeys(("may", "might"), ("may",)),
    **dict.fromkeys(("shall", "should", "sha"), ("shall",)),
    "'s": ("be", "have"), "'d": ("have", "will"), "ai": ("be", "have"), "must": ("must",), "ought": ("ought",),
}  # fmt: skip
AUXILIARY_LEMMAS = frozenset(lemma for lemmas in _AUXILIARIES.values() for lemma in lemmas)
NEGATIONS = frozenset(["not", "n't"])
_CLITICS = ("'m", "'re", "'ve", "'ll", "'d", "'s")
_FULL_FORMS = {
    "'m": ("am",), "'re": ("are",), "'ve": ("have",), "'ll": ("will",), "'s": ("is", "has"), "'d": ("had", "would"),
    "n't": ("not",), "ca": ("can",), "wo": ("will",), "sha": ("shall",),
}  # fmt: skip
_TEXTS_CACHED = 16_384


def plain(word: str) -> str:
    """Lower case with a straight apostrophe: the form in which words are compared."""
    return word.lower().replace("\u2019", "'")


def parts_of(word: str) -> tuple[str, ...]:
    """The words inside a word, plain: "Don't" -> do, n't; "they're" -> they, 're; "cannot" -> can, not."""
    text = plain(word)
    if text == "cannot":
        return ("can", "not")
    if text.endswith("n't") and len(text) > 3:
        return (text[:-3], "n't")
    for clitic in _CLITICS:
        if text.endswith(clitic) and len(text) > len(clitic):
            return (text[: -len(clitic)], clitic)
    return (text,)


def full_forms(part: str) -> tuple[str, ...]:
    """The words a part of a contraction may stand for: 's for 'is' or 'has'; other parts for themselves."""
    return _FULL_FORMS.get(part, (part,))


class VerbWords:
    """Lemmas of single parts, auxiliaries and misspellings included. Looks up, decides nothing."""

    def __init__(self, verbs: VerbTable) -> None:
        self.verbs = verbs
        self.misspelled_lemmas = lru_cache(_TEXTS_CACHED)(self._misspelled_lemmas)

    def is_right_form(self, part: str) -> bool:
        """True for an auxiliary or a right form of a known verb."""
        return part in _AUXILIARIES or self.verbs.is_form(part)

    def lemmas_of(self, part: str) -> frozenset[str]:
        """The verbs this part may be a form of; by the rules of spelling where the table knows it not."""
        known = self.verbs.lemmas_of(part) | frozenset(_AUXILIARIES.get(part, ()))
        return known or self.misspelled_lemmas(part)

    def _misspelled_lemmas(self, part: str) -> frozenset[str]:
        # 'planed' is a form of 'plane', too: the caller decides whether a misspelling is what the edit is about.
        return frozenset(lemma for stem in _possible_stems(part) for lemma in self.verbs.lemmas_of(stem))


def _possible_stems(word: str) -> Iterator[str]:
    """What a learner may have put -ed, -ing or -s on: carryed -> carry, writeing -> write, stoping -> stop."""
    for ending in ("ied", "ies", "ying", "iing", "ing"):
        if word.endswith(ending):
            yield word.removesuffix(ending) + "y"
            yield word.removesuffix(ending) + "ie"
    for ending in ("ed", "ing", "es", "s", "d"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        yield stem
        if ending in ("ed", "ing"):
            yield from (stem + "e", stem + "y")
            if len(stem) > 2 and stem[-1] == stem[-2]:
                yield stem[:-1]
                yield stem[:-1] + "e"
