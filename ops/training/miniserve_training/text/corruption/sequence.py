"""One verb of a story in the present while the others are past."""

from __future__ import annotations

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corruption.times import CHILDHOOD
from miniserve_training.text.corruption.wrong_forms import PRESENT_BE, present_form
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Subject, View

_SLOW = lex.STATE_VERBS | words("have do live work keep teach be use say mean show make")
_TIME_CONJUNCTIONS = words("when before after while until")
_HOPES = words("thought hoped knew believed expected wondered")
_LATER = ("next day", "following week", "next morning", "following day")
_NOT_IN_STORIES = words("that which who if whether because said says \u201c \u201d as since")
_TO_PRESENT = {"would": "will", "could": "can"}


def add_sequence_errors(view: View, text: str) -> None:
    pasts = [i for i, word in enumerate(view.words) if word.tag == "VBD"]
    if not pasts:
        return
    if len(pasts) >= 2 and len(pasts) == view.num_finite:
        for index in pasts[1:]:
            _add_coordinated(view, index, pasts)
        if len(pasts) == 2 and CHILDHOOD.search(text) is None:
            _add_time_clause(view, pasts)
    if len(pasts) == 2 and view.num_finite == 2 or (len(pasts) == 1 and view.num_finite == 2):
        _add_reported(view, pasts, text)


def _event(view: View, index: int) -> VerbForms | None:
    verb = view.lexicon.past.get(view.lowers[index])
    return verb if verb and verb.lemma not in _SLOW and not view.words[index].is_contraction else None


def _add_coordinated(view: View, index: int, pasts: list[int]) -> None:
    """ "He sat down and opens it", "took it, but says nothing": acts of one subject, one after the other."""
    verb, before = _event(view, index), pasts[pasts.index(index) - 1]
    first = _event(view, before)
    if verb is None or first is None or not view.lower_set.isdisjoint(_NOT_IN_STORIES):
        return
    link = index - 1
    if view.at(link).lower in ("then", "finally", "suddenly", "immediately", "quickly"):
        link -= 1
    subject = view.subject(pasts[0])
    if subject is None or not subject.number:
        return
    if (
        view.at(link).lower in ("he", "she", "we", "they", "i")
        and lex.PRONOUN_NUMBER[view.lowers[link]] == subject.number
    ):
        link -= 1
    is_listed = not view.at(index - 1).is_joined and index != pasts[-1] and "and" in view.lowers[index:]
    if not is_listed and (view.at(link).lower not in ("and", "but") or link <= before):
        return
    wrong = present_form(verb, subject.number)
    if wrong not in verb.pasts and not (subject.number != "sg" and _may_be_noun(view, before, index, wrong)):
        view.add(Reason.TENSE_SEQ, verb.lemma, index, wrong)


def _may_be_noun(view: View, before: int, index: int, wrong: str) -> bool:
    """ "We ate and drink", "They saw the play and work": a noun after another one, or an infinitive."""
    between = view.words[before + 1 : index]
    has_infinitive = any(word.tag in ("VB", "TO", "MD") for word in between)
    return has_infinitive or (wrong in view.lexicon.nouns and not view.object_follows(index))


def _add_time_clause(view: View, pasts: list[int]) -> None:
    """ "When he came in, she sees him", "Before she leaves, she locked the door"."""
    one, other = (view.subject(index) for index in pasts)
    if one is None or other is None or not (one.number and other.number):
        return
    clause = _clause_position(view, one, other, pasts[0])
    if clause is None:
        return
    for position, (index, subject) in enumerate(zip(pasts, (one, other), strict=True)):
        conjunction = view.lowers[(one, other)[clause].first - 1]
        if conjunction == "until" and position != clause:
            continue
        if conjunction == "while" and not _is_in_progress(view, pasts):
            continue  # "While he was rich, his brother is poor"
        _add_present_verb(view, index, subject)


def _is_in_progress(view: View, pasts: list[int]) -> bool:
    return any(view.lowers[i] in ("was", "were") and view.at(i + 1).tag == "VBG" for i in pasts)


def _clause_position(view: View, one: Subject, other: Subject, first_verb: int) -> int | None:
    """Which of two clauses begins with a conjunction of time: the first or the second; None where neither does."""
    if one.first == 1 and view.lowers[0] in _TIME_CONJUNCTIONS:
        return 0
    if one.first == 3 and view.lowers[:3] == ["as", "soon", "as"]:
        return 0
    is_after = one.first == 0 and other.first > first_verb + 1
    if is_after and view.lowers[other.first - 1] in _TIME_CONJUNCTIONS:
        # "He asked when she left" is a question; "asked him before she left" is none.
        before = view.words[other.first - 2]
        return 1 if view.lowers[other.first - 1] != "when" or before.tag[:1] != "V" else None
    return None


def _add_present_verb(view: View, index: int, subject: Subject) -> None:
    word, after = view.words[index], view.at(index + 1)
    if word.lower in ("was", "were"):
        if after.tag in ("VBG", "JJ", "IN", "RB"):
            view.add(Reason.TENSE_SEQ, "be", index, PRESENT_BE[subject.number])
        return
    verb = view.lexicon.past.get(word.lower)
    if verb is None or word.is_contraction or verb.lemma in ("have", "do", "be", "use"):
        return
    if present_form(verb, subject.number) not in verb.pasts:
        view.add(Reason.TENSE_SEQ, verb.lemma, index, present_form(verb, subject.number))


def _add_reported(view: View, pasts: list[int], text: str) -> None:
    """ "I hoped that she will come", "I thought he is ill", "He said he will come the next day"."""
    main = pasts[0]
    subject = view.subject(main)
    if subject is None or subject.first != 0:
        return
    verb = next((i for i in range(main + 2, len(view)) if view.words[i].tag in ("VBD", "MD")), None)
    reported = view.subject(verb) if verb is not None else None
    if verb is None or reported is None or not reported.number:
        return
    before = view.lowers[main + 1 : reported.first]
    is_report = before in ([], ["that"]) or (view.lowers[main] == "wondered" and before == ["if"])
    if view.lowers[main] in _HOPES and is_report:
        _add_after_hope(view, main, verb, reported)
        return
    is_later = view.lowers[main] in ("said", "told", "promised") and any(time in text for time in _LATER)
    if is_later and view.lowers[verb] == "would":
        view.add(Reason.TENSE_SEQ, "will", verb, "will")


def _add_after_hope(view: View, main: int, verb: int, reported: Subject) -> None:
    lower = view.lowers[verb]
    if lower in _TO_PRESENT and view.at(verb + 1).tag in ("VB", "RB") and view.at(verb + 1).lower != "have":
        view.add(Reason.TENSE_SEQ, _TO_PRESENT[lower], verb, _TO_PRESENT[lower])
    elif view.lowers[main] in ("thought", "wondered") and view.words[verb].tag == "VBD":
        _add_present_verb(view, verb, reported)
