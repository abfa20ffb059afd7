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
    **dict.fromkeys((Reason.BASE_DO, Reason.BASE_MODAL, Reason.BASE_TO, Reason.BARE_INF, Reason.TO_INF), _BASE),
    Reason.REG_SPELL: _PAST | _PARTICIPLE,
    Reason.S_SPELL: MODAL_FORMS | {"third"},  # "He musts"
    Reason.SVA_SG: frozenset(["third", "was"]),
    Reason.SVA_PL: _BASE | {"were"},
    Reason.SVA_BE: _FINITE_BE,
    Reason.BE_ING: _ING | _FINITE_BE,  # "Do you coming" > "Are you coming"
    Reason.MISSING_BE: word_sets.BE_PARTS,
    Reason.NO_WILL: _BASE | {"third"},
}
# One verb of all that the edit writes is: "has been" becomes 'was', not 'been'.
_WRITTEN: dict[Reason, frozenset[str]] = {
    **dict.fromkeys((Reason.TENSE_PAST, Reason.TENSE_SEQ, Reason.WISH_PAST), _PAST),
    Reason.PAST_NOT_PERF: _PAST | _BASE,  # "have you arrived" > "did you arrive"
    Reason.TENSE_FUT: frozenset(["will", "wo", "'ll", "shall", "sha"]),
    Reason.TENSE_PERF: word_sets.HAVE_PARTS | _PARTICIPLE,  # "do you [know]", the second of two edits
    Reason.PAST_PERF: frozenset(["had", "'d"]),
    Reason.MODAL_OF: frozenset(["have", "'ve"]),
}
_NO_ING = frozenset([Reason.STATIVE, Reason.HABIT])
_WILL = frozenset(["will", "wo", "'ll"])


def keeps_its_promise(reason: Reason, old: Sequence[str], new: Sequence[str], words: VerbWords) -> bool:
    """Return whether the parts of words that an edit writes have the form that its reason names."""
    verbs = [part for part in new if words.lemmas_of(part) and part != "to"]
    brought = [part for part in verbs if part not in old] or verbs  # "to goes" > "goes" brings none
    if reason in _BROUGHT and not _has_one(brought, _BROUGHT[reason], words):
        return False
    if reason in _WRITTEN and not _has_one(verbs, _WRITTEN[reason], words):
        return False
    if reason in _NO_ING:
        return not verbs or "ing" not in words.forms_of(verbs[-1])
    if reason is Reason.NO_WILL:
        return _WILL.isdisjoint(new)
    if reason is Reason.EXTRA_BE:
        return _count(new, word_sets.BE_PARTS) < max(1, _count(old, word_sets.BE_PARTS))
    if reason is Reason.DO_SUPPORT and not word_sets.DO_PARTS.isdisjoint(new):  # where it goes, any form may come
        return all(part in word_sets.DO_PARTS or "base" in words.forms_of(part) for part in verbs)
    return True


def _has_one(parts: Sequence[str], wanted: frozenset[str], words: VerbWords) -> bool:
    """Return whether one of the parts is wanted, or there is none."""
    return not parts or any(part in wanted or not wanted.isdisjoint(words.forms_of(part)) for part in parts)


def _count(parts: Sequence[str], wanted: Collection[str]) -> int:
    return sum(part in wanted for part in parts)
