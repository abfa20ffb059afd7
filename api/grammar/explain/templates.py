"""Explains an edit in one plain sentence, with a template for every reason.

A template claims only what the facts show. Where the verb, the subject or the asking word is not certain, it uses a
wording without it. This file holds the templates on the spelling and choice of forms, `syntax_templates.py` those on
what other words ask for, `tense_templates.py` those on tense.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from api.grammar import word_sets
from api.grammar.explain.edit_facts import EditFacts
from api.grammar.explain.subjects import Kind, Subject
from api.grammar.explain.syntax_templates import SYNTAX_TEMPLATES
from api.grammar.explain.tense_templates import TENSE_TEMPLATES
from api.grammar.reasons import Reason
from api.grammar.verb_words import plain
from api.grammar.verbs import MODALS, VerbForms

_SUBJECT_STARTS = (
    word_sets.SUBJECT_PRONOUNS | word_sets.DETERMINERS | word_sets.AMOUNTS | word_sets.INDEFINITE_PRONOUNS | {""}
)
_NEVER_DOUBLED = "aeioucwxy"
_VOWEL_GROUP = re.compile("[aeiouy]+")


def explain(facts: EditFacts) -> str:
    """Return the explanation of one edit."""
    return _TEMPLATES[facts.reason](facts)


def _irregular(short: str, forms_of: Callable[[VerbForms], tuple[str, ...]]) -> Callable[[EditFacts], str]:
    name = "past tense" if short == "past" else short

    def template(facts: EditFacts) -> str:
        if facts.verb is None or facts.head not in forms_of(facts.verb):
            return f"The {name} needed here is {facts.not_old}."
        if facts.head == facts.verb.lemma:
            return f"'{facts.head}' does not change in the {short}: {facts.not_old}."
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
        if facts.head in MODALS:  # musts
            return f"'{facts.head}' has one form for all subjects: {facts.not_old}."
        name = "past" if form == "-ed" and not facts.head.endswith("ed") else form  # paid
        of_verb = f" of '{facts.verb.lemma}'" if facts.verb else ""
        return f"The {name} form{of_verb} is {facts.not_old}{_rule(facts)}."

    return template


def _rule(facts: EditFacts) -> str:
    """Return the spelling rule as the end of a sentence, or nothing where no well-known rule applies."""
    if facts.verb is None or " " in facts.old:
        return ""
    rule = _rule_that_changes(facts.verb.lemma, facts) or _rule_that_keeps(facts.verb.lemma, facts)
    return f": {rule}" if rule else ""


def _rule_that_changes(lemma: str, facts: EditFacts) -> str:
    """Return the rule that changes the end of the base form."""
    form, end = facts.head, lemma[-1]
    if form == lemma[:-1] + "ied" and end == "y":
        return "the 'y' becomes 'i' before -ed"
    if form == lemma[:-1] + "ies" and end == "y":
        return "the 'y' becomes 'ie'"
    if form == lemma[:-2] + "ying" and lemma.endswith("ie"):
        return "the 'ie' becomes 'y'"
    if form in (lemma + end + "ed", lemma + end + "ing"):
        return f"the final '{end}' is doubled"
    if form == lemma[:-1] + "ing" and end == "e":
        is_doubled = facts.old == lemma[:-1] + lemma[-2] + "ing"  # writting
        return "the final 'e' is dropped" + (f" and the '{lemma[-2]}' is not doubled" if is_doubled else "")
    if form == lemma + "es" and facts.old == lemma + "s":
        return f"'{lemma}' takes -es"
    return ""


def _rule_that_keeps(lemma: str, facts: EditFacts) -> str:
    """Return the rule that keeps the end of the base form, as in 'opened', 'enjoyed', 'studying'."""
    old, end = facts.old, lemma[-1]
    ending = facts.head.removeprefix(lemma)
    if lemma + ending != facts.head or ending not in ("ed", "ing", "s"):
        return ""
    if end == "y" and old in (lemma[:-1] + "ied", lemma[:-1] + "ies") and lemma[-2] in "aeiou":
        return "the 'y' stays after a vowel"
    if end in "ey" and old in (lemma[:-1] + "ing", lemma[:-1] + "iing"):
        return f"the '{end}' stays before -ing"
    return _why_not_doubled(lemma) if old == lemma + end + ending else ""


def _why_not_doubled(lemma: str) -> str:
    """Return why the last letter is not doubled: the letters before it, or the stress."""
    before, end = lemma[-3:-1], lemma[-1]
    if len(before) < 2 or end in _NEVER_DOUBLED or "qu" in lemma[-4:]:  # the 'u' of 'quit' is no vowel
        return ""
    if before[1] not in "aeiou":
        return f"the '{end}' is not doubled after another consonant"
    if before[0] in "aeiou":
        return f"the '{end}' is not doubled after two vowels"
    if len(_VOWEL_GROUP.findall(lemma)) > 1:
        return f"the last syllable is not stressed, so the '{end}' is not doubled"
    return ""


def _agreement(named: str, unnamed: str) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        if facts.subject is None and _is_order(facts):
            return f"An order not to do something begins with '{facts.new}'."
        beginning = f"{_about(facts.subject)} {named}" if facts.subject else unnamed
        return f"{beginning} {facts.not_old}."

    return template


def _is_order(facts: EditFacts) -> bool:
    """Return whether the edit mends an order: "Please doesn't call"."""
    is_first = facts.previous in (None, "please") and not facts.sentence.rstrip().endswith("?")
    following = plain(facts.after[0]) if facts.after else ""
    return is_first and facts.new in ("don't", "do not") and following not in _SUBJECT_STARTS


def _about(subject: Subject) -> str:
    """Begin a sentence on agreement: name the subject and say what makes it singular or plural."""
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
    Reason.PAST_IRREG: _irregular("past", lambda verb: verb.pasts),
    Reason.PART_IRREG: _irregular("past participle", lambda verb: verb.participles),
    Reason.PAST_NOT_PART: _past_not_participle,
    Reason.REG_SPELL: _spelling("-ed"),
    Reason.ING_SPELL: _spelling("-ing"),
    Reason.S_SPELL: _spelling("he/she/it"),
    Reason.SVA_SG: _agreement("the verb is", "The subject is singular, so the verb takes its he/she/it form:"),
    Reason.SVA_PL: _agreement("the verb is", "A plural subject, 'I' or 'you' takes the base form:"),
    Reason.SVA_BE: _agreement("the form of 'be' is", "The form of 'be' that fits this subject is"),
    **SYNTAX_TEMPLATES,
    **TENSE_TEMPLATES,
}
