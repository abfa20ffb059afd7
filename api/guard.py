"""The guard: lets an edit pass only if it rewrites a verb and nothing else.

The model may put any text in the place of any word. An edit is applied only if every word it writes is a form of a
known verb, an auxiliary or a word it replaces, if what it writes is a form of the verb it replaces, and if nothing but
auxiliaries and 'to' goes away. So no noun, name or number is ever changed, and no 'not' is gained or lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from api.reasons import Reason
from api.verb_words import AUXILIARY_LEMMAS, NEGATIONS, VerbWords, parts_of

# Auxiliaries an edit may bring in without replacing one: 'is' singing, 'has' lived, 'will' come, 'to' win.
_INSERTABLE = frozenset(["be", "have", "will"])
_SPELLING = frozenset([Reason.REG_SPELL, Reason.ING_SPELL, Reason.S_SPELL])


class Guard:
    """Judges single edits; keeps no state."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words

    def allows(self, source: Sequence[str], replacement: Sequence[str], reason: Reason) -> bool:
        """Whether the words `replacement` may stand for the words `source`; case and apostrophes do not count."""
        old = [part for word in source for part in parts_of(word)]
        new = [part for word in replacement for part in parts_of(word)]
        old_lemmas = {part: self._lemmas_of_source(part, reason) for part in old}
        return (
            all(self._may_come(part, old_lemmas) for part in new)
            and all(self._may_go(part, old_lemmas[part], new) for part in old)
            and self._stays_the_same_verb(old_lemmas, new)
        )

    def _lemmas_of_source(self, part: str, reason: Reason) -> frozenset[str]:
        lemmas = self._words.lemmas_of(part)
        if reason in _SPELLING:
            return lemmas | self._words.misspelled_lemmas(part)
        if reason is Reason.MODAL_OF and part == "of":
            return frozenset(["have"])
        return lemmas

    def _may_come(self, part: str, old_lemmas: dict[str, frozenset[str]]) -> bool:
        if part in old_lemmas or part == "to":
            return True
        is_insertable = not self._words.lemmas_of(part).isdisjoint(_INSERTABLE)
        return self._words.is_right_form(part) and (is_insertable or self._shares_lemma(part, old_lemmas))

    def _may_go(self, part: str, lemmas: frozenset[str], new: Sequence[str]) -> bool:
        if part in new or part == "to" or lemmas & AUXILIARY_LEMMAS:
            return True
        return any(lemmas & self._words.lemmas_of(other) for other in new)

    def _stays_the_same_verb(self, old_lemmas: dict[str, frozenset[str]], new: Sequence[str]) -> bool:
        """Something of the old words is still there: 'to' or 'is' alone never stands for another word."""
        return any(part in old_lemmas or self._shares_lemma(part, old_lemmas) for part in new if part not in NEGATIONS)

    def _shares_lemma(self, part: str, old_lemmas: dict[str, frozenset[str]]) -> bool:
        lemmas = self._words.lemmas_of(part)
        return any(lemmas & old for old in old_lemmas.values())
