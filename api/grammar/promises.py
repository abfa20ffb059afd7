"""Checks that the verb of an edit has the form that the edit's reason promises.

An answer explains each edit by its reason: "the subject is singular" promises a present third person. An edit with
another form is right by chance at best, and its explanation is wrong. A test asks this of every reason.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from api.grammar import word_sets
from api.grammar.reasons import Reason
from api.grammar.verb_words import MODAL_FORMS, VerbWords

_PAST, _PARTICIPLE, _ING, _BASE = (frozenset([form]) for form in ("past", "participle", "ing", "base"))
_FINITE_BE = word_sets.BE_PARTS - {"be", "been", "being"}
# One verb that an edit brings in, or keeps where it brings none, is of these forms, or one of these words.
_BROUGHT: dict[Reason, frozenset[str]] = {
    **dict.fromkeys((Reason.PAST_IRREG, Reason.PAST_NOT_PART), _PAST),
    **dict.fromkeys((Reason.PART_IRREG, Reason.PERF_PART, Reason.PASSIVE_PART), _PARTICIPLE),
    **dict.fromkeys((Reason.ING_SPELL, Reason.ING_PREP, Reason.ING_VERB, Reason.ING_TO), _ING),
    **dict.fromkeys((Reason.BASE_MODAL, Reason.BASE_TO, Reason.BARE_INF, Reason.TO_INF), _BASE),
    Reason.REG_SPELL: _PAST | _PARTICIPLE,
    Reason.S_SPELL: MODAL_FORMS | {"third"},  # "He musts"
    Reason.SVA_SG: frozenset(["third", "was"]),
    Reason.SVA_PL: _BASE | {"were"},
    Reason.SVA_BE: _FINITE_BE | MODAL_FORMS | _BASE | {"third"},  # "they has been" > "they have been"
    Reason.BE_ING: _ING | _FINITE_BE,  # "Do you coming" > "Are you coming"
    Reason.MISSING_BE: word_sets.BE_PARTS,
    Reason.NO_WILL: _BASE | {"third"},
}
# One verb of all that the edit writes is: "has been" becomes 'was', not 'been'.
_WRITTEN: dict[Reason, frozenset[str]] = {
    **dict.fromkeys((Reason.TENSE_PAST, Reason.WISH_PAST), _PAST),
    Reason.TENSE_SEQ: _PAST | _BASE | {"third"},  # "If he comes, he [went] with us" asks for a present
    Reason.PAST_NOT_PERF: _PAST | _BASE,  # "have you arrived" > "did you arrive"
    Reason.TENSE_FUT: frozenset(["will", "wo", "'ll", "shall", "sha", "would", "'d"]),
    Reason.TENSE_PERF: word_sets.HAVE_PARTS | _PARTICIPLE,  # "do you [know]", the second of two edits
    Reason.PAST_PERF: frozenset(["had", "'d"]),
    Reason.MODAL_OF: frozenset(["have", "'ve"]),
}
_NO_ING = frozenset([Reason.STATIVE, Reason.HABIT])
_WILL = frozenset(["will", "wo", "'ll"])


def keeps_its_promise(reason: Reason, old: Sequence[str], new: Sequence[str], words: VerbWords) -> bool:
    """Return whether the parts of words that an edit writes have the form that its reason names."""
    verbs = [part for part in new if words.lemmas_of(part) and part != "to"]
    new_verbs = [part for part in verbs if part not in old]
    if reason in _BROUGHT and not _has_one(new_verbs or verbs, _BROUGHT[reason], words):  # "to goes" > "goes"
        return False
    if reason in _WRITTEN and not _has_one(verbs, _WRITTEN[reason], words):
        return False
    if reason in _NO_ING:
        return not any("ing" in words.forms_of(part) for part in new_verbs)
    if reason is Reason.NO_WILL:
        return _WILL.isdisjoint(new)
    if reason is Reason.EXTRA_BE:
        return _count(new, word_sets.BE_PARTS) <= _count(old, word_sets.BE_PARTS)
    if _is_beside_do(reason, old, new):
        return all(part in word_sets.DO_PARTS or "base" in words.forms_of(part) for part in new_verbs)
    return True


def _is_beside_do(reason: Reason, old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether the verb stands with a 'do'; where that goes, any form may come: "did I live" > "I lived"."""
    if reason is Reason.BASE_DO:
        return _count(new, word_sets.DO_PARTS) >= _count(old, word_sets.DO_PARTS)
    return reason is Reason.DO_SUPPORT and _count(new, word_sets.DO_PARTS) > 0


def _has_one(parts: Sequence[str], wanted: frozenset[str], words: VerbWords) -> bool:
    """Return whether one of the parts is wanted, or there is none."""
    return not parts or any(part in wanted or not wanted.isdisjoint(words.forms_of(part)) for part in parts)


def _count(parts: Sequence[str], wanted: Collection[str]) -> int:
    return sum(part in wanted for part in parts)
