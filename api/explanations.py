"""Why an edit was made, in one plain sentence: a template for every reason.

A template claims only what the facts show: where the verb, the subject or the asking word is not known for certain it
falls back to a wording without it. Templates on the spelling and choice of forms are here, those on tense and on
what other words ask for in `explanations_syntax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from api.edit_facts import EditFacts
from api.explanations_syntax import SYNTAX_TEMPLATES
from api.reasons import Reason
from api.subjects import Kind, Subject
from api.verbs import VerbForms

NOTHING_WRONG = "The sentence looks correct: no verb mistakes found."


def explain(facts: EditFacts) -> str:
    """The sentence for one edit."""
    return _TEMPLATES[facts.reason](facts)


def _irregular(name: str, forms_of: Callable[[VerbForms], tuple[str, ...]]) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        if facts.verb is None or facts.head not in forms_of(facts.verb):
            return f"The {name} needed here is {facts.not_old}."
        if facts.head == facts.verb.lemma:
            return f"The {name} of '{facts.head}' looks like its base form: {facts.not_old}."
        kind = "" if facts.has_regular_head else "the irregular form "
        return f"The {name} of '{facts.verb.lemma}' is {kind}'{facts.head}'."

    return template


def _past_not_participle(facts: EditFacts) -> str:
    verb = facts.verb
    if verb is None or facts.head not in verb.pasts:
        return f"Without 'have' or 'be' before it, the verb takes the simple past here: {facts.not_old}."
    if facts.old not in verb.participles or facts.old == verb.lemma:
        return f"The simple past of '{verb.lemma}' is {facts.not_old}."
    return f"'{facts.old}' is the past participle of '{verb.lemma}'; on its own the past tense is '{facts.head}'."


def _spelling(form: str) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        name = "past" if form == "-ed" and not facts.head.endswith("ed") else form  # paid
        of_verb = f" of '{facts.verb.lemma}'" if facts.verb else ""
        return f"The {name} form{of_verb} is {facts.not_old}{_rule(facts)}."

    return template


def _rule(facts: EditFacts) -> str:
    """The spelling rule as the end of a sentence; empty where none of the well-known ones is at work."""
    verb, form = facts.verb, facts.head
    lemma = verb.lemma if verb else ""
    if lemma.endswith("y") and form == lemma[:-1] + "ied":
        return ": the 'y' becomes 'i' before -ed"
    if lemma.endswith("y") and form == lemma[:-1] + "ies":
        return ": the 'y' becomes 'ie'"
    if lemma.endswith("ie") and form == lemma[:-2] + "ying":
        return ": the 'ie' becomes 'y'"
    if form in (lemma + lemma[-1:] + "ed", lemma + lemma[-1:] + "ing"):
        return f": the final '{lemma[-1]}' is doubled"
    if lemma.endswith("e") and form == lemma[:-1] + "ing":
        return ": the final 'e' is dropped"
    return ""


def _agreement(named: str, unnamed: str) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        beginning = f"{_about(facts.subject)} {named}" if facts.subject else unnamed
        return f"{beginning} {facts.not_old}."

    return template


def _about(subject: Subject) -> str:
    """The beginning of a sentence on agreement: what the subject is and what makes it singular or plural."""
    text, number = f"'{subject.text}'", subject.number.value
    if subject.rival:
        return f"The subject is {text}, which is {number}, and not '{subject.rival}', so"
    if subject.kind is Kind.RELATIVE:
        return f"'{subject.pronoun}' stands for {text}, which is {number}, so"
    if subject.kind is Kind.NEARER:
        pair = "either ... or" if subject.pronoun == "or" else "neither ... nor"
        return f"With '{pair}' the verb follows the nearer subject, {text}, so"
    return _BEGINNINGS.get(subject.kind, "With the subject {text}").format(text=text, number=number)


_BEGINNINGS = {
    Kind.NOUN: "The subject {text} is {number}, so",
    Kind.PAIR: "The subject {text} names more than one, so",
    Kind.ONE_OF: "The subject {text} means one at a time, so",
    Kind.ACTIVITY: "The subject {text} is an activity, which is singular, so",
    Kind.IN_S: "The subject {text} ends in -s but is {number}, so",
}

_TEMPLATES: dict[Reason, Callable[[EditFacts], str]] = {
    Reason.PAST_IRREG: _irregular("past tense", lambda verb: verb.pasts),
    Reason.PART_IRREG: _irregular("past participle", lambda verb: verb.participles),
    Reason.PAST_NOT_PART: _past_not_participle,
    Reason.REG_SPELL: _spelling("-ed"),
    Reason.ING_SPELL: _spelling("-ing"),
    Reason.S_SPELL: _spelling("he/she/it"),
    Reason.SVA_SG: _agreement("the verb is", "The subject is singular, so the verb takes its he/she/it form:"),
    Reason.SVA_PL: _agreement("the verb is", "A plural subject, 'I' or 'you' takes the base form:"),
    Reason.SVA_BE: _agreement("the form of 'be' is", "The form of 'be' that fits this subject is"),
    **SYNTAX_TEMPLATES,
}
