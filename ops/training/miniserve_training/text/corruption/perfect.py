"""Present perfect and past perfect: what lasts since then, and what came before."""

from __future__ import annotations

import re

from api.grammar.reasons import Reason
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corruption.times import FOR_PERIOD, MANY_YEARS, SINCE
from miniserve_training.text.corruption.wrong_forms import PAST_BE, PRESENT_BE, have_form, present_form
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Subject, View

_FOR_STATES = words("know live own")
_FOR_YEARS = words("work teach play study")
_PASSING = words("ill sick sad away angry absent married unhappy dead single lonely closed asleep")
_RECENTLY = re.compile(r"\b(?:in|over|during|for) the (?:last|past) (?:few|two|three|five|ten|several) \w+")
_FIRST_TIME = re.compile(r"\b(?:is|it's|that's) the (?:first|second|third|fourth) time\b")
_NEVER_NOW = words("come arrive finish leave return go read eat call begin start write pay answer send reply buy")
_HAVE = words("has have hasn't haven't had hadn't")
_ANTERIOR = words("when before time")
_ASKING = words("if see know knew ask asked wonder wondered tell told remember remembered say said")
_NOTICED = words("realized realised noticed discovered thought wondered")


def add_perfect_errors(view: View, text: str) -> None:
    if view.lower_set.isdisjoint(_HAVE):
        return
    is_since = SINCE.search(text) is not None
    is_for = FOR_PERIOD.search(text) is not None
    is_years = is_for and MANY_YEARS.search(text) is not None
    is_recently = _RECENTLY.search(text) is not None
    is_first_time = _FIRST_TIME.search(text) is not None
    for index, word in enumerate(view.words):
        if word.lower in ("has", "have"):
            if (is_since or is_for) and _is_only_perfect(view):
                _add_lasting(view, index, is_since=is_since, is_years=is_years)
            elif is_recently or is_first_time:
                _add_up_to_now(view, index, is_first_time=is_first_time)
        elif word.lower in ("hasn't", "haven't") and "yet" in view.lower_set:
            _add_not_yet(view, index)
        elif word.lower in ("had", "hadn't"):
            _add_past_perfect(view, index)


def _is_only_perfect(view: View) -> bool:
    """ "Since then they have grown, and I am able to come" is right: two verbs may share the time."""
    num_have = sum(word in ("has", "have") or word.endswith("'ve") for word in view.lowers)
    return num_have == 1 and view.num_finite <= 3


def _perfect_subject(view: View, index: int) -> Subject | None:
    """The subject of "has done"; None where no participle follows."""
    subject = view.subject(index)
    if subject is None or not subject.number or view.at(index + 1).tag not in ("VBN", "VBD"):
        return None
    return subject if view.lowers[index - 1] not in lex.MODAL_WORDS else None  # a modal taken for a noun: "Must have"


def _add_lasting(view: View, index: int, *, is_since: bool, is_years: bool) -> None:
    subject, participle = _perfect_subject(view, index), view.at(index + 1)
    if subject is None:
        return
    if participle.lower == "been":
        _add_lasting_be(view, index, subject, is_since=is_since)
        return
    verb = view.lexicon.participle.get(participle.lower)
    if verb is None:
        return
    is_general = view.lowers[subject.first] in ("you", "one")
    is_years = is_years and verb.lemma in _FOR_YEARS and not is_general
    if not (is_since or verb.lemma in _FOR_STATES or is_years):
        return
    view.add(Reason.TENSE_PERF, verb.lemma, index, present_form(verb, subject.number), 2)
    if is_since and verb.pasts[0] != verb.lemma:
        view.add(Reason.TENSE_PERF, verb.lemma, index, verb.pasts[0], 2)


def _add_lasting_be(view: View, index: int, subject: Subject, *, is_since: bool) -> None:
    after = view.at(index + 2)
    is_progressive = after.tag == "VBG" and view.words[index + 1].is_joined
    if view.lowers[subject.first] == "it" and not is_progressive:
        return  # "It is ten years since he left", "It was": right as well
    if not (is_since or is_progressive or after.lower in _PASSING):
        return  # "I am here for two weeks" is right
    view.add(Reason.TENSE_PERF, "be", index, PRESENT_BE[subject.number], 2)
    if is_since and not is_progressive:
        view.add(Reason.TENSE_PERF, "be", index, PAST_BE[subject.number], 2)


def _add_up_to_now(view: View, index: int, *, is_first_time: bool) -> None:
    """ "Prices rise in the last ten years", "This is the first time I see him"."""
    subject, participle = _perfect_subject(view, index), view.at(index + 1)
    if subject is None or (is_first_time and view.at(subject.first - 1).lower not in ("time", "that")):
        return
    if participle.lower == "been":
        if is_first_time and view.at(index + 2).tag != "VBG":
            view.add(Reason.TENSE_PERF, "be", index, PRESENT_BE[subject.number], 2)
        return
    verb = view.lexicon.participle.get(participle.lower)
    if verb is not None:
        view.add(Reason.TENSE_PERF, verb.lemma, index, present_form(verb, subject.number), 2)


def _add_not_yet(view: View, index: int) -> None:
    """ "He doesn't come yet"."""
    subject, participle = view.subject(index), view.at(index + 1)
    verb = view.lexicon.participle.get(participle.lower)
    if subject is None or verb is None or participle.tag not in ("VBN", "VBD") or verb.lemma not in _NEVER_NOW:
        return
    if subject.number in ("sg", "pl", "i"):
        do = "doesn't" if subject.number == "sg" else "don't"
        view.add(Reason.TENSE_PERF, verb.lemma, index, f"{do} {verb.lemma}", 2)


def _add_past_perfect(view: View, index: int) -> None:
    """ "The train has left when we arrived", "She noticed that she has lost it"."""
    subject = view.subject(index)
    participle = view.skip_adverbs(index + 1) if view.words[index].is_joined else -1
    if subject is None or not subject.number or participle < 0 or view.words[participle].tag not in ("VBN", "VBD"):
        return
    if view.words[participle].lower not in view.lexicon.participle and view.words[participle].lower != "been":
        return
    others = [i for i, word in enumerate(view.words) if word.tag == "VBD" and i not in (index, participle)]
    is_before_past = len(others) == 1 and view.num_finite <= 3 and view.lower_set.isdisjoint(_ASKING)
    is_before_past = is_before_past and _is_earlier(view, subject, others[0])
    is_noticed = len(others) == 1 and others[0] < subject.first and view.lowers[others[0]] in _NOTICED
    if is_before_past or (is_noticed and view.num_finite <= 3):
        have = have_form(subject.number)
        view.add(Reason.PAST_PERF, "have", index, have + "n't" if view.lowers[index] == "hadn't" else have)


def _is_earlier(view: View, subject: Subject, other: int) -> bool:
    """ "It had left when he came", "After it had left, he came": the conjunction stands before the right clause."""
    if subject.first > 0 and view.lowers[subject.first - 1] in ("after", "when"):
        return True
    later = view.subject(other)
    if later is None or later.first == 0 or view.lowers[later.first - 1] not in _ANTERIOR:
        return False
    return view.lowers[later.first - 1] != "time" or "by" in view.lower_set
