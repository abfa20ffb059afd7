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

NOTHING_WRONG = "The sentence looks correct: no verb mistakes found."


def explain(facts: EditFacts) -> str:
    """The sentence for one edit."""
    return _TEMPLATES[facts.reason](facts)


def _past_irregular(facts: EditFacts) -> str:
    if facts.verb is None or facts.head not in facts.verb.pasts:
        return f"The past tense needed here is {facts.not_old}."
    kind = "" if facts.has_regular_head else "the irregular form "
    return f"The past tense of '{facts.verb.lemma}' is {kind}'{facts.head}'."


def _participle_irregular(facts: EditFacts) -> str:
    if facts.verb is None or facts.head not in facts.verb.participles:
        return f"The past participle needed here is {facts.not_old}."
    kind = "" if facts.has_regular_head else "the irregular form "
    return f"The past participle of '{facts.verb.lemma}' is {kind}'{facts.head}'."


def _past_not_participle(facts: EditFacts) -> str:
    verb = facts.verb
    if verb is None or facts.head not in verb.pasts:
        return f"Without 'have' or 'be' before it, the verb takes the simple past here: {facts.not_old}."
    if facts.old not in verb.participles:
        return f"The simple past of '{verb.lemma}' is {facts.not_old}."
    return f"'{facts.old}' is the past participle of '{verb.lemma}'; on its own the past tense is '{facts.head}'."


def _regular_spelling(facts: EditFacts) -> str:
    if facts.verb is None:
        return f"The -ed form is spelled {facts.not_old}."
    return f"The -ed form of '{facts.verb.lemma}' is spelled '{facts.new}'{_rule(facts)}."


def _ing_spelling(facts: EditFacts) -> str:
    if facts.verb is None:
        return f"The -ing form is spelled {facts.not_old}."
    return f"The -ing form of '{facts.verb.lemma}' is spelled '{facts.new}'{_rule(facts)}."


def _third_person_spelling(facts: EditFacts) -> str:
    if facts.verb is None:
        return f"The he/she/it form is spelled {facts.not_old}."
    return f"The he/she/it form of '{facts.verb.lemma}' is '{facts.new}', not '{facts.old}'{_rule(facts)}."


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


def _singular_agreement(facts: EditFacts) -> str:
    if facts.subject:
        return f"{_about(facts.subject)} the verb is {facts.not_old}."
    if facts.verb and facts.new == facts.verb.third:
        return f"The subject is singular, so '{facts.verb.lemma}' takes its he/she/it form '{facts.new}'."
    return f"The subject is singular, so the verb is {facts.not_old}."


def _plural_agreement(facts: EditFacts) -> str:
    if facts.subject:
        return f"{_about(facts.subject)} the verb is {facts.not_old}."
    if facts.verb and facts.new == facts.verb.lemma:
        return f"A plural subject, 'I' or 'you' takes the base form '{facts.new}', not '{facts.old}'."
    return f"A plural subject, 'I' or 'you' takes {facts.not_old}."


def _be_agreement(facts: EditFacts) -> str:
    if facts.subject:
        return f"{_about(facts.subject)} the form of 'be' is {facts.not_old}."
    return f"The form of 'be' that fits this subject is {facts.not_old}."


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
    Reason.PAST_IRREG: _past_irregular,
    Reason.PART_IRREG: _participle_irregular,
    Reason.PAST_NOT_PART: _past_not_participle,
    Reason.REG_SPELL: _regular_spelling,
    Reason.ING_SPELL: _ing_spelling,
    Reason.S_SPELL: _third_person_spelling,
    Reason.SVA_SG: _singular_agreement,
    Reason.SVA_PL: _plural_agreement,
    Reason.SVA_BE: _be_agreement,
    **SYNTAX_TEMPLATES,
}
