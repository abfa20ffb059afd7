"""Mistaken verb forms: over-regularised irregulars, the participle as a past, and spelling of -ed, -ing and -s."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.view import View, is_adverb

_VOWELS = "aeiou"
# Real words, but so rare as verbs that "they planed a trip" can only be a slip.
_MISSPELLINGS_THAT_ARE_WORDS = frozenset(("planed", "planing"))
_AUXILIARIES = lex.HAVE_WORDS | lex.BE_WORDS | frozenset(("having", "be", "been"))


def add_form_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if word.is_contraction:
            continue
        if word.tag == "VBD":
            _add_past(view, index)
        if word.tag in ("VBN", "VBD"):
            _add_participle(view, index)
        if word.tag == "VBG" and (verb := view.lexicon.ing.get(word.lower)):
            for wrong in ing_misspellings(verb, view.lexicon):
                view.add(Reason.ING_SPELL, verb.lemma, index, wrong)
        elif word.tag == "VBZ" and (verb := view.lexicon.third.get(word.lower)):
            subject = view.subject(index)
            if subject is None or subject.number != "sg":
                continue
            for wrong in third_misspellings(verb, view.lexicon):
                view.add(Reason.S_SPELL, verb.lemma, index, wrong)


def _add_past(view: View, index: int) -> None:
    lower = view.words[index].lower
    verb = view.lexicon.past.get(lower)
    if verb is None:
        return
    if verb.lemma == "do" and (view.at(index + 1).lower == "not" or view.at(view.skip_adverbs(index + 1)).tag == "VB"):
        return
    is_unmistakable = lower not in verb.participles and lower != verb.lemma
    is_coordinated = view.at(index - 1).lower == "and"
    is_late_past = is_coordinated and (is_unmistakable or view.lower_set.isdisjoint(_AUXILIARIES))
    if not (view.subject(index) or is_late_past):
        return
    if not verb.is_irregular and lower.endswith("ed"):
        for wrong in ed_misspellings(verb, view.lexicon):
            view.add(Reason.REG_SPELL, verb.lemma, index, wrong)
    elif lower == verb.pasts[0] or verb.is_irregular:
        _add_irregular_past(view, index, verb)
    if is_unmistakable:
        _add_participle_as_past(view, index, verb)


def _add_irregular_past(view: View, index: int, verb: VerbForms) -> None:
    for wrong in view.lexicon.over_regularised(verb):
        view.add(Reason.PAST_IRREG, verb.lemma, index, wrong)


def _add_participle_as_past(view: View, index: int, verb: VerbForms) -> None:
    for wrong in verb.participles:
        # "he come", "he run" lack an -s as well; "born" and "worn" are adjectives too.
        if (
            wrong.isalpha()
            and wrong not in verb.pasts
            and wrong != verb.lemma
            and wrong not in view.lexicon.base
            and wrong != "born"
        ):
            view.add(Reason.PAST_NOT_PART, verb.lemma, index, wrong)


def _add_participle(view: View, index: int) -> None:
    lower = view.words[index].lower
    verb = view.lexicon.participle.get(lower)
    if verb is None or not _has_auxiliary(view, index):
        return
    if not verb.is_irregular and lower.endswith("ed"):
        for wrong in ed_misspellings(verb, view.lexicon):
            view.add(Reason.REG_SPELL, verb.lemma, index, wrong)
        return
    if verb.lemma == "get" or lower in ("born", "used"):
        return
    for wrong in view.lexicon.over_regularised(verb):
        view.add(Reason.PART_IRREG, verb.lemma, index, wrong)


def _has_auxiliary(view: View, index: int) -> bool:
    before = index - 1
    while (
        before >= 0
        and view.words[before].is_joined
        and (is_adverb(view.words[before]) or view.words[before].lower in ("not", "been", "being"))
    ):
        if view.words[before].lower in ("been", "being"):
            return True
        before -= 1
    word = view.at(before)
    if not word.is_joined:
        return False
    if word.lower in lex.PRONOUN_NUMBER and 0 < before < 3:  # "Have you ever ridden"
        word = view.words[before - 1]
    is_have_contraction = word.lower.endswith("'ve")
    return word.lower in lex.HAVE_WORDS or word.lower in lex.BE_WORDS or word.lower == "be" or is_have_contraction


def ed_misspellings(verb: VerbForms, lexicon: Lexicon) -> list[str]:
    """Wrong -ed spellings of a regular verb: stoped, openned, carryed, plaied, likeed."""
    lemma, right = verb.lemma, verb.pasts[0]
    forms = list(_shared_misspellings(verb, right, "ed"))
    if right == lemma[:-1] + "ied":
        forms += [lemma + "ed", lemma[:-1] + "yd"]
    elif lemma.endswith("y") and right == lemma + "ed":
        forms += [lemma[:-1] + "ied"]
    elif lemma.endswith("e"):
        forms += [lemma + "ed"]
    return _invented(forms, verb, lexicon)


def ing_misspellings(verb: VerbForms, lexicon: Lexicon) -> list[str]:
    """Wrong -ing spellings: writeing, runing, openning, studing, lieing."""
    lemma, right = verb.lemma, verb.ing
    forms = list(_shared_misspellings(verb, right, "ing"))
    if lemma.endswith("ie"):
        forms += [lemma + "ing"]
    elif lemma.endswith("e") and right == lemma[:-1] + "ing":
        forms += [lemma + "ing"]
        if len(lemma) > 3 and lemma[-3] in _VOWELS and lemma[-4] not in _VOWELS and lemma[-2] not in "wxyv":
            forms += [lemma[:-1] + lemma[-2] + "ing"]
    elif lemma.endswith("y"):
        forms += [lemma[:-1] + "ing"] if len(lemma) > 4 else []
    return _invented(forms, verb, lexicon)


def third_misspellings(verb: VerbForms, lexicon: Lexicon) -> list[str]:
    """Wrong -s spellings: carrys, plaies, watchs, gos, haves."""
    lemma, right = verb.lemma, verb.third
    if lemma == "have":
        return ["haves"]
    if lemma in ("do", "go"):
        return [lemma + "s"]
    if right == lemma[:-1] + "ies":
        forms = [lemma + "s", lemma + "es"]
    elif lemma.endswith("y"):
        forms = [lemma[:-1] + "ies"]
    elif right == lemma + "es" and not lemma.endswith("s"):
        forms = [lemma + "s"]
    elif right == lemma + "s" and lemma[-1] not in "aeious":
        forms = [lemma + "es"]
    else:
        forms = []
    return _invented(forms, verb, lexicon)


def _shared_misspellings(verb: VerbForms, right: str, ending: str) -> Iterator[str]:
    """The last consonant doubled where it should not be, or not doubled where it should."""
    lemma = verb.lemma
    if right == lemma + lemma[-1] + ending:
        yield lemma + ending
    is_short = len(lemma) > 2 and lemma[-1] not in _VOWELS + "wxyhqkcj" and lemma[-2] in _VOWELS
    if is_short and right == lemma + ending and lemma[-3] not in _VOWELS:
        yield lemma + lemma[-1] + ending


def _invented(forms: list[str], verb: VerbForms, lexicon: Lexicon) -> list[str]:
    """Those that are no English word; British doubling (travelled) is right, so l and p after a vowel stay out."""
    british = verb.lemma.endswith(("l", "p", "s", "gram", "t")) and len(verb.lemma) > 5
    kept = [form for form in forms if form in _MISSPELLINGS_THAT_ARE_WORDS or not lexicon.is_real(form)]
    return [] if british and len(forms) == 1 and kept and _is_doubling(kept[0], verb) else [sys.intern(f) for f in kept]


def _is_doubling(form: str, verb: VerbForms) -> bool:
    return form.startswith(verb.lemma + verb.lemma[-1]) or verb.pasts[0].startswith(verb.lemma + verb.lemma[-1])
