"""The wrong tense for the time word: "Yesterday he goes", "Tomorrow they arrived"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text.corruption.perfect import add_perfect_errors
from miniserve_training.text.corruption.sequence import add_sequence_errors
from miniserve_training.text.corruption.states import add_state_errors
from miniserve_training.text.corruption.times import (
    FUTURE_TIME,
    PAST_TIME,
    inverted_number,
    is_timed,
    words_of_match,
)  # fmt: skip
from miniserve_training.text.corruption.wrong_forms import PRESENT_BE, have_form, present_form
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import View

_WAS = words("was were wasn't weren't")
_NO_FUTURE_PAST = words("hope wish know")


def add_tense_errors(view: View) -> None:
    text = " ".join(view.lowers)
    _add_by_time(view, text)
    add_perfect_errors(view, text)
    add_state_errors(view)
    add_sequence_errors(view, text)


def _add_by_time(view: View, text: str) -> None:
    past = None if view.is_unreal else PAST_TIME.search(text)
    future = FUTURE_TIME.search(text)
    if past is not None and future is None:
        time = words_of_match(text, past)
        for index, word in enumerate(view.words):
            if word.tag in ("VBD", "MD") and is_timed(view, index, time):
                _add_past_time(view, index)
    elif future is not None and past is None:
        time = words_of_match(text, future)
        for index, word in enumerate(view.words):
            if word.lower in ("will", "won't") and is_timed(view, index, time):
                _add_future_time(view, index)


def _number(view: View, index: int) -> str:
    subject = view.subject(index)
    return (inverted_number(view, index) or "") if subject is None else subject.number


def _add_past_time(view: View, index: int) -> None:
    word, number = view.words[index], _number(view, index)
    if not number:
        return
    if word.tag == "MD":
        _add_past_could(view, index)
    elif word.lower in _WAS:
        _add_past_be(view, index, number)
    elif word.lower in ("did", "didn't"):
        _add_past_do(view, index, number)
    else:
        _add_past_verb(view, index, number)


def _add_past_could(view: View, index: int) -> None:
    wrong = {"could": "can", "couldn't": "can't"}.get(view.lowers[index])
    base = view.at(view.skip_adverbs(index + 1))
    if wrong and base.tag == "VB" and base.lower != "have" and view.subject(index) is not None:
        view.add(Reason.TENSE_PAST, "can", index, wrong)


def _add_past_be(view: View, index: int, number: str) -> None:
    word = view.words[index]
    present = PRESENT_BE[number]
    is_plain = not word.is_contraction
    if is_plain or present != "am":
        view.add(Reason.TENSE_PAST, "be", index, present if is_plain else present + "n't")
    after = view.at(index + 1)
    if is_plain and view.subject(index) is not None and after.lower not in ("to", "not"):
        view.add(Reason.PAST_NOT_PERF, "be", index, f"{have_form(number)} been")
        if after.tag in ("JJ", "IN"):
            view.add(Reason.TENSE_PAST, "be", index, "will be")


def _add_past_do(view: View, index: int, number: str) -> None:
    do = "does" if number == "sg" else "do"
    is_auxiliary = view.lowers[index] == "didn't" or view.subject(index) is None or view.at(index + 1).lower == "not"
    if is_auxiliary:
        view.add(Reason.TENSE_PAST, "do", index, do + "n't" if view.lowers[index] == "didn't" else do)
    elif view.at(index + 1).tag in ("DT", "PRP$", "PRP", "RB", "NN"):
        view.add(Reason.TENSE_PAST, "do", index, do)
        view.add(Reason.PAST_NOT_PERF, "do", index, f"{have_form(number)} done")


def _add_past_verb(view: View, index: int, number: str) -> None:
    word, after = view.words[index], view.at(index + 1)
    verb = view.lexicon.past.get(word.lower)
    if verb is None or word.is_contraction or view.subject(index) is None:
        return
    if verb.lemma == "have" and after.tag in ("VBN", "VBD", "RB", "TO"):
        return
    if verb.lemma == "use" and after.lower == "to":
        return
    for wrong in dict.fromkeys((present_form(verb, number), verb.lemma)):
        if wrong not in verb.pasts:
            view.add(Reason.TENSE_PAST, verb.lemma, index, wrong)
    view.add(Reason.TENSE_PAST, verb.lemma, index, f"will {verb.lemma}")
    view.add(Reason.PAST_NOT_PERF, verb.lemma, index, f"{have_form(number)} {verb.participles[0]}")


def _add_future_time(view: View, index: int) -> None:
    base, number = view.at(index + 1), _number(view, index)
    if base.tag != "VB" or not number:
        return
    if view.subject(index) is None:
        return
    if view.lowers[index] == "won't":
        if base.lower != "be":
            view.add(Reason.TENSE_FUT, base.lower, index, f"didn't {base.lower}", 2)
        return
    if base.lower == "be":
        if view.at(index + 2).tag != "VBG":
            view.add(Reason.TENSE_FUT, "be", index, "were" if number == "pl" else "was", 2)
            view.add(Reason.TENSE_FUT, "be", index, f"{have_form(number)} been", 2)
        return
    verb = view.lexicon.base.get(base.lower)
    if verb is None or verb.lemma in _NO_FUTURE_PAST:
        return
    if verb.pasts[0] != verb.lemma or number == "sg":
        view.add(Reason.TENSE_FUT, verb.lemma, index, verb.pasts[0], 2)
    view.add(Reason.TENSE_FUT, verb.lemma, index, f"{have_form(number)} {verb.participles[0]}", 2)
