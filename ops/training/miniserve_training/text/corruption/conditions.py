"""Wishes, conditions and clauses of time: "If I will see him", "If I would have known", "I wish I know"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text.corruption.will_clauses import add_will_clause_errors
from miniserve_training.text.corruption.wrong_forms import PRESENT_BE, have_form, present_form
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Subject, View

_UNREAL_MODALS = {"could": "can", "would": "will"}
_WOULD = words("would wouldn't i'd")
_POLITE = words("like love prefer suggest mind appreciate recommend say advise think be hate")
_WISHES = words("wish wishes")


def add_condition_errors(view: View) -> None:
    if view.num_finite >= 2 or view.words[0].tag == "VB":
        add_will_clause_errors(view)
    if not view.is_unreal:
        return
    for index, word in enumerate(view.words):
        if word.tag == "VBD" or word.lower in ("could", "would", "didn't", "had", "hadn't"):
            _add_unreal(view, index)


def _add_unreal(view: View, index: int) -> None:
    subject = view.subject(index)
    if subject is None or not subject.number or not view.at(subject.first - 1).is_joined or subject.first < 1:
        return
    kind = _kind(view, subject, index)
    if not kind:
        return
    if view.lowers[index] in ("had", "hadn't") and _is_past_perfect(view, index):
        _add_unreal_perfect(view, index, subject, kind)
    elif kind in ("wish", "only", "if", "time", "high time"):
        _add_unreal_simple(view, index, subject, kind)


def _kind(view: View, subject: Subject, index: int) -> str:
    """What makes the clause of this subject unreal: "wish", "only", "time", "high time", "if", or nothing."""
    first, lowers = subject.first, view.lowers
    before, second = lowers[first - 1], view.at(first - 2).lower
    if before in _WISHES or (before == "that" and second in _WISHES):
        return "wish"
    if before == "only" and second == "if":
        return "only"
    if before == "time":
        if second in ("high", "about"):
            return "high time"
        return "time" if second == "it's" or lowers[first - 3 : first - 1] == ["it", "is"] else ""
    if before == "rather" and (second in _WOULD or second.endswith("'d")):
        return "time"
    return "if" if before == "if" and _has_unreal_main(view, first, index) else ""


def _has_unreal_main(view: View, first: int, index: int) -> bool:
    """ "If he came, she would go" or "She would go if he came", and nothing else finite."""
    if first == 1:
        return not _WOULD.isdisjoint(view.lowers[index + 1 :])
    main = next((i for i in range(first - 1) if view.lowers[i] in _WOULD), None)
    if main is None or view.num_finite != 2:
        return False
    subject = view.subject(main)
    return subject is not None and subject.first == 0 and view.at(main + 1).lower not in _POLITE


def _is_past_perfect(view: View, had: int) -> bool:
    participle = view.skip_adverbs(had + 1) if view.words[had].is_joined else -1
    if participle < 0 or view.words[participle].tag not in ("VBN", "VBD"):
        return False
    return view.words[participle].lower == "been" or view.words[participle].lower in view.lexicon.participle


def _add_unreal_perfect(view: View, had: int, subject: Subject, kind: str) -> None:
    """ "If I would have known", "I wish I have known", "If I had known, I had come"."""
    if kind in ("time", "high time"):
        return
    is_not = view.lowers[had] == "hadn't"
    main = _third_main(view, had, subject) if kind == "if" else -1
    if kind == "if" and main < 0:
        return
    have = have_form(subject.number)
    view.add(Reason.PAST_PERF if kind == "if" else Reason.WISH_PAST, "have", had, have + "n't" if is_not else have)
    view.add(Reason.WISH_PAST, "have", had, "wouldn't have" if is_not else "would have")
    if kind == "if" and view.lowers[main] == "would":
        _add_third_main(view, main)


def _third_main(view: View, had: int, subject: Subject) -> int:
    """Where the modal of "would have come" stands; -1 if there is none."""
    order = range(had + 2, len(view) - 2) if subject.first == 1 else range(subject.first - 1)
    for index in order:
        if view.lowers[index] in ("would", "wouldn't", "could", "might") and view.at(index + 1).lower == "have":
            return index
    return -1


def _add_third_main(view: View, would: int) -> None:
    """ "..., I will have come", "..., I had come", "..., I would came"."""
    if view.subject(would) is None or view.at(would + 2).tag not in ("VBN", "VBD"):
        return
    view.add(Reason.WISH_PAST, "would", would, "will")
    view.add(Reason.WISH_PAST, "have", would, "had", 2)
    verb = view.lexicon.participle.get(view.lowers[would + 2])
    if verb is not None and verb.pasts[0] != verb.lemma:
        view.add(Reason.WISH_PAST, verb.lemma, would + 1, verb.pasts[0], 2)


def _add_unreal_simple(view: View, index: int, subject: Subject, kind: str) -> None:
    word, number = view.words[index], subject.number
    if kind == "time" and number != "sg":
        return  # "It's time we go" is said
    if word.lower in ("was", "were"):
        _add_unreal_be(view, index, subject, kind)
    elif word.lower in _UNREAL_MODALS:
        if kind in ("wish", "only"):
            view.add(Reason.WISH_PAST, word.lower, index, _UNREAL_MODALS[word.lower])
    elif word.lower == "didn't":
        view.add(Reason.WISH_PAST, "do", index, "doesn't" if number == "sg" else "don't")
    elif not word.is_contraction and word.tag == "VBD":
        _add_unreal_verb(view, index, subject, kind)


def _add_unreal_be(view: View, index: int, subject: Subject, kind: str) -> None:
    if view.at(index + 1).tag == "TO" and kind == "if":
        return  # "If I am to tell you" is right
    view.add(Reason.WISH_PAST, "be", index, PRESENT_BE[subject.number])
    is_state = view.at(index + 1).tag in ("JJ", "DT", "IN")
    if kind == "if" and is_state and view.lowers[subject.first] not in ("you", "we"):
        view.add(Reason.WISH_PAST, "be", index, "would be")


def _add_unreal_verb(view: View, index: int, subject: Subject, kind: str) -> None:
    verb = view.lexicon.past.get(view.lowers[index])
    if verb is None or present_form(verb, subject.number) in verb.pasts or verb.lemma == "do":
        return
    if verb.lemma == "use" and view.at(index + 1).lower == "to":
        return
    view.add(Reason.WISH_PAST, verb.lemma, index, present_form(verb, subject.number))
    # "If you would wait" asks politely.
    if kind == "if" and view.lowers[subject.first] not in ("you", "we"):
        view.add(Reason.WISH_PAST, verb.lemma, index, f"would {verb.lemma}")
    if kind == "if" and subject.first == 1 and verb.lemma in ("have", "know") and view.lowers[1] == "i":
        _add_second_main(view, index)


def _add_second_main(view: View, index: int) -> None:
    """ "If I had money, I will buy it"."""
    for main in range(index + 2, len(view) - 1):
        if view.lowers[main] == "would" and view.at(main + 1).tag == "VB" and view.at(main + 1).lower != "have":
            view.add(Reason.WISH_PAST, "would", main, "will")
            return
