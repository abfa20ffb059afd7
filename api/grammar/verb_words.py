"""Splits contractions and looks up the verbs that a word may be a form of, for the guard and the explanations.

This module adds to the verb table the auxiliaries (modals, contracted ones), the parts of "doesn't" or "they're", and
misspelled regular forms (planed, carryed, writeing), which lead to their verb by the rules of English spelling.
"""

from __future__ import annotations

from collections.abc import Iterator

from api.grammar.memo import memo
from api.grammar.verbs import VerbTable

# Auxiliaries, what is left of them in contractions, and the verbs they may stand for.
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
MODAL_FORMS = frozenset(["can", "may", "must", "shall", "should", "will", "could", "might", "would"])
# Of the words that no row of the table holds.
_FORMS = {
    **dict.fromkeys("be am are 'm 're 've can ca may must shall sha will wo 'll".split(), frozenset(["base"])),
    **dict.fromkeys("could might would should 'd".split(), frozenset(["base", "past"])),
    **dict.fromkeys(("was", "were"), frozenset(["past"])), **dict.fromkeys(("is", "'s"), frozenset(["third"])),
    "been": frozenset(["participle"]), "being": frozenset(["ing"]),
}  # fmt: skip
AUXILIARY_LEMMAS = frozenset(lemma for lemmas in _AUXILIARIES.values() for lemma in lemmas)
NEGATIONS = frozenset(["not", "n't"])
# As many type them. "wont" and "cant" are words of their own.
_WITHOUT_APOSTROPHE = frozenset(
    "dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt couldnt wouldnt shouldnt mustnt".split()
)
_CLITICS = ("'m", "'re", "'ve", "'ll", "'d", "'s")
_FULL_FORMS = {
    "'m": ("am",), "'re": ("are",), "'ve": ("have",), "'ll": ("will",), "'s": ("is", "has"), "'d": ("had", "would"),
    "n't": ("not",), "ca": ("can",), "wo": ("will",), "sha": ("shall",),
}  # fmt: skip


@memo
def plain(word: str) -> str:
    """Return the word in the form in which words are compared: lower case with a straight apostrophe."""
    return word.lower().replace("\u2019", "'")


@memo
def parts_of(word: str) -> tuple[str, ...]:
    """Split a word into plain parts: "Don't" -> do, n't; "they're" -> they, 're; "cannot" -> can, not."""
    text = plain(word)
    if text == "cannot":
        return ("can", "not")
    if text in _WITHOUT_APOSTROPHE:
        return (text[:-2], "n't")
    if text.endswith("n't") and len(text) > 3:
        return (text[:-3], "n't")
    for clitic in _CLITICS:
        if text.endswith(clitic) and len(text) > len(clitic):
            return (text[: -len(clitic)], clitic)
    return (text,)


def full_forms(part: str) -> tuple[str, ...]:
    """Return the words a part of a contraction may stand for: 's for 'is' or 'has', other parts for themselves."""
    return _FULL_FORMS.get(part, (part,))


class VerbWords:
    """Looks up the lemmas of single parts, auxiliaries and misspellings included."""

    def __init__(self, verbs: VerbTable) -> None:
        self.verbs = verbs
        self.lemmas_of = memo(self._lemmas_of)
        self.forms_of = memo(self._forms_of)
        self.misspelled_lemmas = memo(self._misspelled_lemmas)

    def is_right_form(self, part: str) -> bool:
        """Return whether the part is an auxiliary or a right form of a known verb."""
        return part in _AUXILIARIES or self.verbs.is_form(part)

    def may_be_past(self, part: str) -> bool:
        """Return whether the part may be a past form or a participle."""
        return not self.forms_of(part).isdisjoint(("past", "participle"))

    def _forms_of(self, part: str) -> frozenset[str]:
        """Return which forms of verbs the part may be: base, third, ing, past, participle. A misspelling is none."""
        if part in _FORMS:
            return _FORMS[part]
        known = (self.verbs.verbs[lemma] for lemma in self.verbs.lemmas_of(part) if lemma in self.verbs.verbs)
        return frozenset(name for verb in known for name, forms in verb.by_name() if part in forms)

    def _lemmas_of(self, part: str) -> frozenset[str]:
        """Return the verbs this part may be a form of; the rules of spelling find those of parts outside the table."""
        known = self.verbs.lemmas_of(part) | frozenset(_AUXILIARIES.get(part, ()))
        return known or self.misspelled_lemmas(part)

    def _misspelled_lemmas(self, part: str) -> frozenset[str]:
        # 'planed' is also a form of 'plane': the caller decides whether the edit is about a misspelling.
        if part.endswith("s") and part[:-1] in MODAL_FORMS:  # "He musts go"
            return frozenset(_AUXILIARIES[part[:-1]])
        return frozenset(lemma for stem in _possible_stems(part) for lemma in self.verbs.lemmas_of(stem))


def _possible_stems(word: str) -> Iterator[str]:
    """Yield stems to which a learner may have added -ed, -ing or -s: carryed -> carry, writeing -> write."""
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
