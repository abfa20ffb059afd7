"""Explains forms that another word asks for: after 'did', after 'to', in a question."""

from __future__ import annotations

import re
from collections.abc import Callable

from api.grammar import word_sets
from api.grammar.explain.edit_facts import EditFacts
from api.grammar.reasons import Reason
from api.grammar.verb_words import full_forms, parts_of, plain

_BETTER_PHRASE = re.compile(r"(?:\b(?:had|would|have)|'d) (better|rather|sooner)(?: not)?$")
_ASKED_PHRASE = re.compile(
    r"\b(?:ask(?:s|ed)?|tells?|told|wants?|wanted|allow(?:s|ed)?|advised?|advises|invite[sd]?|forced?|order(?:s|ed)?"
    r"|expect(?:s|ed)?|persuade[sd]?|teach|taught|remind(?:s|ed)?|warn(?:s|ed)?)"
    r" (?:[A-Z]\w+|(?:the|my|your|his|her|our|their) \w+)$"
)
_NOT = frozenset(["not", "n't"])
# A noun always follows these. 'that', 'her' and 'each' are left out, as they may stand alone.
_BEFORE_NOUNS = frozenset(["the", "a", "an", "my", "your", "our", "their", "every"])
_NO_BARE_OBJECT = frozenset(["but", "than", "is", "was"])  # "nothing to do but wait"
_INVERTING = frozenset(["never", "nor", "neither", "so", "rarely", "seldom"])  # "Never have I seen it"


def _base_after(parts: frozenset[str], unnamed: str) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        trigger = facts.nearest(parts)
        return f"After {_quoted(trigger) or unnamed} the verb stays in its base form: {facts.not_old}."

    return template


def _participle_after_have(facts: EditFacts) -> str:
    trigger = _quoted(facts.auxiliary(word_sets.HAVE_PARTS)) or "a form of 'have'"
    return f"After {trigger} comes the past participle{facts.of_participle}: {facts.not_old}."


def _participle_in_passive(facts: EditFacts) -> str:
    participle = f"the past participle{facts.of_participle}"
    if facts.previous in _BEFORE_NOUNS and facts.after and plain(facts.after[0]) not in word_sets.CLOSED_CLASS:
        return f"Before a noun stands {participle}: {facts.not_old}."
    if trigger := _quoted(facts.auxiliary(word_sets.BE_PARTS)):
        return f"The passive with {trigger} needs {participle}: {facts.not_old}."
    return f"Here the verb says what was done to something and is {participle}: {facts.not_old}."


def _ing_after_be(facts: EditFacts) -> str:
    trigger = _quoted(facts.auxiliary(word_sets.BE_PARTS)) or "a form of 'be'"
    return f"The progressive with {trigger} needs the -ing form{facts.of_ing}: {facts.not_old}."


def _missing_be(facts: EditFacts) -> str:
    be, _, rest = facts.new.rpartition(" ")
    if be and facts.verb and rest in (facts.verb.ing, *facts.verb.variants):
        return f"The -ing form '{rest}' needs a form of 'be' before it: '{facts.new}'."
    if facts.new == f"{be} {facts.old}" and be in word_sets.BE_PARTS:
        return f"A form of 'be' is missing here: put '{be}' before '{facts.shown(facts.old)}'."
    if be == facts.old and rest in word_sets.BE_PARTS:
        return f"A form of 'be' is missing here: put '{rest}' after '{facts.shown(be)}'."
    return f"A form of 'be' is missing here: {facts.not_old}."


def _extra_be(facts: EditFacts) -> str:
    if _has(facts.new, word_sets.DO_PARTS):
        return _do_for_be(facts)
    be = [part for word in facts.old.split(" ") for part in parts_of(word) if part in word_sets.BE_PARTS]
    if be and facts.new in word_sets.SUBJECT_PRONOUNS and facts.after:  # "[I'm] agree"
        verb = plain(facts.after[0])
        return f"'{verb}' is a verb: '{facts.shown(facts.new)} {verb}', without '{full_forms(be[0])[0]}'."
    is_doubled = "be" in be or facts.head in word_sets.BE_PARTS  # "is be ready"
    if not be or (facts.verb is None and not is_doubled):
        return f"No form of 'be' belongs before this verb: {facts.not_old}."
    if facts.verb is None or is_doubled:
        return f"One form of 'be' is enough: {facts.not_old}."
    subject = f"{facts.shown(facts.previous)} " if facts.previous in word_sets.SUBJECT_PRONOUNS else ""
    shown = f"{subject}{facts.shown(facts.new)}"
    return f"'{facts.verb.lemma}' is a verb: '{shown}', without '{full_forms(be[0])[0]}'."


def _to_infinitive(facts: EditFacts) -> str:
    trigger = facts.expression_before
    if trigger is None and (match := _ASKED_PHRASE.search(" ".join(facts.before))):
        trigger = match.group()
    if trigger is None:
        return f"Here the infinitive with 'to' is needed: {facts.not_old}."
    return f"After '{trigger}' comes the infinitive with 'to': {facts.not_old}."


def _bare_infinitive(facts: EditFacts) -> str:
    if match := _BETTER_PHRASE.search(facts.text_before):
        trigger = "'had better'" if match.group(1) == "better" else f"'would {match.group(1)}'"
    else:
        verb = None if facts.previous in _NO_BARE_OBJECT else facts.nearest(word_sets.BARE_VERBS)
        trigger = _quoted(verb) or "this expression"
    rule = "the infinitive has no 'to'" if facts.old.startswith("to ") else "the verb stays in its base form"
    return f"After {trigger} {rule}: {facts.not_old}."


def _ing_after_preposition(facts: EditFacts) -> str:
    trigger = f"the preposition '{facts.previous}'" if facts.previous in word_sets.PREPOSITIONS else "a preposition"
    return f"After {trigger} the verb takes the -ing form: {facts.not_old}."


def _ing_after_verb(facts: EditFacts) -> str:
    trigger = _quoted(facts.expression_before) or "this expression"
    return f"After {trigger} the verb takes the -ing form: {facts.not_old}."


def _modal_have(facts: EditFacts) -> str:
    trigger = _quoted(facts.nearest(word_sets.MODAL_PARTS)) or "a modal verb"
    return f"'of' is no verb: after {trigger} comes 'have'."


def _ing_after_to(facts: EditFacts) -> str:
    return f"Here 'to' is a preposition, and the -ing form{facts.of_ing} follows it: {facts.not_old}."


def _do_support(facts: EditFacts) -> str:
    words = facts.new.split(" ")
    at = next((at for at, word in enumerate(words) if parts_of(word)[0] in word_sets.DO_PARTS), None)
    first, *rest = facts.old.split(" ")
    if at is None and rest and parts_of(first)[0] in word_sets.DO_PARTS:
        is_subject_asked = facts.verb is not None and facts.head in facts.new.split(" ")[0]
        if is_subject_asked:
            return f"Where the question word is the subject, no '{first}' comes before the verb: {facts.not_old}."
        return f"Inside another sentence a question keeps the order of a statement, without '{first}': {facts.not_old}."
    if at is None and rest and rest == words[:-1]:  # "does [means this word]?"
        return f"After 'do' comes the subject, and then the base form of the verb: {facts.not_old}."
    if at is None:
        return f"A question or a negative sentence needs a form of 'do' here: {facts.not_old}."
    if _has(facts.old, word_sets.BE_PARTS):
        return _do_for_be(facts)
    do = " ".join(words[at : at + 2]) if words[at + 1 : at + 2] == ["not"] else words[at]
    if _has(facts.old, word_sets.NEGATIVE_PARTS):
        is_bare = facts.old.split(" ")[0] in word_sets.NEGATIVE_PARTS  # avoids "not 'not like'"
        result = f"'{facts.new}'" if is_bare else facts.not_old
        return f"To say 'not' here, use '{do}': {result}."
    if facts.verb and facts.head == facts.verb.lemma != "do":
        return f"A question like this needs '{do}' before the subject and the base form of the verb: {facts.not_old}."
    if facts.new == f"{do} {facts.old}" and facts.old in word_sets.DETERMINERS:  # "[the] last bus": half a subject
        return f"A question like this needs '{do}' before the subject: put it before '{facts.old}'."
    return f"A question like this needs '{do}' before the subject: {facts.not_old}."


def _do_for_be(facts: EditFacts) -> str:
    """Explain 'do' in the place of 'be': "I am not agree", "Are you agree?"."""
    is_negative = _has(facts.new, word_sets.NEGATIVE_PARTS) or "not" in map(plain, facts.after[:2])
    kind = "negative" if is_negative else "question"
    verb = _verb_of_do(facts)
    beginning = f"'{verb}' is a verb here, so the {kind}" if verb else f"The {kind}"
    return f"{beginning} is made with 'do', not with 'be': {facts.not_old}."


def _verb_of_do(facts: EditFacts) -> str | None:
    """Return the verb after the new 'do', or None where its place is not certain."""
    last = facts.new.split(" ")[-1]
    following = [word for word in map(plain, facts.after) if word != "not"]
    if facts.verb and facts.head == facts.verb.lemma and _has(facts.new, word_sets.NEGATIVE_PARTS):
        return facts.head
    if last in word_sets.DO_PARTS and following and following[0] in word_sets.SUBJECT_PRONOUNS:
        following = following[1:]
    elif last in word_sets.DO_PARTS or not (last in facts.capitals or _has(last, _NOT | word_sets.SUBJECT_PRONOUNS)):
        return None
    is_open = following and (following[0] == "like" or following[0] not in word_sets.CLOSED_CLASS)
    return following[0] if is_open else None


def _has(text: str, parts: frozenset[str]) -> bool:
    return any(part in parts for word in text.split(" ") for part in parts_of(word))


def _question_order(facts: EditFacts) -> str:
    old, new = facts.old.split(" "), facts.new.split(" ")
    if old[0] in word_sets.DO_PARTS and old[0] not in new:  # "[Do you can] swim?"
        return f"'{new[0]}' makes its question without '{old[0]}': {facts.not_old}."
    first, *others = new
    if parts_of(first)[0] in word_sets.INVERTED_PARTS and others:
        place = f"After '{facts.previous}'," if facts.previous in _INVERTING else "In a question"
        return f"{place} '{first}' comes before the subject: {facts.not_old}."
    if parts_of(old[0])[0] in word_sets.INVERTED_PARTS:
        return f"Inside another sentence a question keeps the order of a statement: {facts.not_old}."
    return f"The order of the words is {facts.not_old}."


def _quoted(word: str | None) -> str | None:
    return f"'{word}'" if word else None


SYNTAX_TEMPLATES: dict[Reason, Callable[[EditFacts], str]] = {
    Reason.BASE_DO: _base_after(word_sets.DO_PARTS, "'do', 'does' or 'did'"),
    Reason.BASE_MODAL: _base_after(word_sets.MODAL_PARTS, "a modal verb"),
    Reason.BASE_TO: _base_after(frozenset(["to"]), "'to'"),
    Reason.PERF_PART: _participle_after_have,
    Reason.PASSIVE_PART: _participle_in_passive,
    Reason.BE_ING: _ing_after_be,
    Reason.MISSING_BE: _missing_be,
    Reason.EXTRA_BE: _extra_be,
    Reason.TO_INF: _to_infinitive,
    Reason.BARE_INF: _bare_infinitive,
    Reason.ING_PREP: _ing_after_preposition,
    Reason.ING_VERB: _ing_after_verb,
    Reason.MODAL_OF: _modal_have,
    Reason.ING_TO: _ing_after_to,
    Reason.DO_SUPPORT: _do_support,
    Reason.QUESTION_ORDER: _question_order,
}
