"""Be in the place of do: "I am not agree", "Are you agree with me?"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text.corruption.wrong_forms import PRESENT_BE, WITH_BE
from miniserve_training.text.lexicon import PRONOUN_NUMBER, words
from miniserve_training.text.view import View

# Verbs of which no participle is near: "I am not go" may lack -ing, "I am not agree" cannot.
_STATES = words("agree know like want understand believe think need remember have love hate care mean")


def add_be_for_do_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if word.lower in ("don't", "doesn't"):
            _add_negative(view, index)
        elif word.lower in ("do", "does") and index == 0:
            _add_question(view)


def _add_negative(view: View, index: int) -> None:
    verb, subject = view.at(index + 1), view.subject(index)
    if verb.tag != "VB" or verb.lower not in _STATES or not view.words[index].is_joined:
        return
    if subject is None or not subject.number:
        return
    be = PRESENT_BE[subject.number]
    view.add(Reason.DO_SUPPORT, verb.lower, index, f"{be} not")
    if be != "am":
        view.add(Reason.DO_SUPPORT, verb.lower, index, f"{be}n't")
    pronoun = view.words[index - 1].lower
    if subject.is_pronoun and subject.first == index - 1 == 0 and pronoun in WITH_BE:
        view.add(Reason.DO_SUPPORT, verb.lower, 0, f"{WITH_BE[pronoun]} not", 2)


def _add_question(view: View) -> None:
    subject, verb = view.at(1), view.at(2)
    be = PRESENT_BE.get(PRONOUN_NUMBER.get(subject.lower, ""))
    if be and verb.tag == "VB" and verb.lower in _STATES and view.words[0].is_joined and subject.is_joined:
        view.add(Reason.DO_SUPPORT, verb.lower, 0, f"{be} {subject.lower}", 2)
