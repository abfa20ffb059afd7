"""Templates on tense and on the form that another word asks for: after 'did', after 'to', with 'yesterday'."""

from __future__ import annotations

import re
from collections.abc import Callable

from api import word_sets
from api.edit_facts import EditFacts
from api.reasons import Reason
from api.verb_words import parts_of, plain

_UNITS = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade|century|centurie|age|time|moment)s?"
_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_PERIODS = rf"(?:{_UNITS}|morning|evening|summer|winter|spring|autumn|fall|{_DAYS}|{_MONTHS})"
_COUNT = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|twenty|some|several|many|few|long|\d+)"
_PAST_PHRASE = re.compile(
    rf"\b(?:when \w+ (?:was|were) (?:an? \w+|young|little|small)|yesterday|last {_PERIODS}|{_COUNT}(?: \w+)? ago"
    r"|in (?:1\d|20)\d\d|ago)\b",
    re.IGNORECASE,
)
_FUTURE_PHRASE = re.compile(
    rf"\b(?:tomorrow|next {_PERIODS}|in {_COUNT} {_UNITS}|tonight|soon|one day)\b", re.IGNORECASE
)
_PERFECT_PHRASE = re.compile(
    rf"\b(?:since(?: (?:last |this )?{_PERIODS}| \d{{4}}| yesterday| then)?"
    rf"|for (?:{_COUNT} |the last |the past )+(?:\w+ )?{_UNITS}|for {_UNITS})\b",
    re.IGNORECASE,
)
_SO_FAR_PHRASE = re.compile(
    r"\b(?:the (?:first|second|third|fourth|fifth|only) time|so far|up to now|until now|already|yet|recently|lately)\b",
    re.IGNORECASE,
)
_HABIT_PHRASE = re.compile(
    rf"\b(?:every \w+|each {_UNITS}|(?:once|twice) an? \w+|always|usually|normally|generally|regularly|frequently|often"
    r"|sometimes|rarely|seldom|hardly ever|never"
    rf"|on {_DAYS}s)\b",
    re.IGNORECASE,
)  # fmt: skip
_BETTER_PHRASE = re.compile(r"(?:\b(?:had|would|have)|'d) (better|rather|sooner)(?: not)?$")
_CLAUSE_PHRASE = re.compile(r"\b(?:(?:as soon|as long) as|by the time|the moment)\b")
_UNREAL_MODALS = frozenset(["would", "could", "might", "'d"])
_RESULT_PHRASE = re.compile(r"\b(?:would|could|might)(?:n['\u2019]t)?\b", re.IGNORECASE)
_NO_BARE_OBJECT = frozenset(["but", "than", "is", "was"])  # "nothing to do but wait"
_INVERTING = frozenset(["never", "nor", "neither", "so", "rarely", "seldom"])  # "Never have I seen it"
_WISH_PHRASE = re.compile(
    r"\b(?:wish(?:es|ed)?|if only|as if|as though|if|would rather|it(?:'s| is) (?:high |about )?time)\b", re.IGNORECASE
)


def _base_after(parts: frozenset[str], unnamed: str) -> Callable[[EditFacts], str]:
    def template(facts: EditFacts) -> str:
        trigger = facts.nearest(parts)
        return f"After {_quoted(trigger) or unnamed} the verb stays in its base form: {facts.not_old}."

    return template


def _participle_after_have(facts: EditFacts) -> str:
    trigger = _quoted(facts.auxiliary(word_sets.HAVE_PARTS)) or "a form of 'have'"
    return f"After {trigger} comes the past participle{_of_verb(facts, _participles(facts))}: {facts.not_old}."


def _participle_in_passive(facts: EditFacts) -> str:
    trigger = _quoted(facts.auxiliary(word_sets.BE_PARTS))
    participle = f"the past participle{_of_verb(facts, _participles(facts))}"
    if trigger is None:
        return f"Here the verb says what was done to something and is {participle}: {facts.not_old}."
    return f"The passive with {trigger} needs {participle}: {facts.not_old}."


def _ing_after_be(facts: EditFacts) -> str:
    trigger = _quoted(facts.auxiliary(word_sets.BE_PARTS)) or "a form of 'be'"
    return f"The progressive with {trigger} needs the -ing form{_of_ing(facts)}: {facts.not_old}."


def _missing_be(facts: EditFacts) -> str:
    be, _, rest = facts.new.rpartition(" ")
    if not be or not rest.endswith("ing"):
        return f"A form of 'be' is missing here: {facts.not_old}."
    return f"The -ing form '{rest}' needs a form of 'be' before it: '{facts.new}'."


def _extra_be(facts: EditFacts) -> str:
    be = parts_of(facts.old.split(" ")[0])[0]
    if facts.head in word_sets.DO_PARTS or parts_of(facts.new)[0] in word_sets.DO_PARTS:
        return f"This verb takes a form of 'do' and not of 'be': {facts.not_old}."
    if facts.verb is None or be not in word_sets.BE_PARTS:
        return f"No form of 'be' belongs before this verb: {facts.not_old}."
    lemma = f", a form of '{facts.verb.lemma}'," if facts.new.lower() != facts.verb.lemma else ""
    return f"The verb '{facts.new}'{lemma} needs no '{be}' before it."


def _past_tense(facts: EditFacts) -> str:
    form = f"the past tense{_of_verb(facts, facts.verb.pasts if facts.verb else ())}"
    if phrase := facts.phrase(_PAST_PHRASE):
        return f"'{phrase}' asks for {form}: {facts.not_old}."
    return f"The sentence is about the past and needs {form}: {facts.not_old}."


def _future_tense(facts: EditFacts) -> str:
    if phrase := facts.phrase(_FUTURE_PHRASE):
        return f"'{phrase}' points to the future: {facts.not_old}."
    return f"The sentence is about the future, so the verb is {facts.not_old}."


def _perfect_tense(facts: EditFacts) -> str:
    tense = "perfect" if facts.new.startswith("had") else "present perfect"
    if not facts.new.startswith("had ") and (phrase := facts.phrase(_PERFECT_PHRASE)):
        return f"'{phrase}' asks for the {tense}: {facts.not_old}."
    if phrase := facts.phrase(_SO_FAR_PHRASE):
        return f"Looking back, '{phrase}' goes with the {tense}: {facts.not_old}."
    return f"What reaches up to the time spoken of takes the {tense}: {facts.not_old}."


def _past_not_perfect(facts: EditFacts) -> str:
    if phrase := facts.phrase(_PAST_PHRASE):
        return f"'{phrase}' is a finished time and takes the simple past: {facts.not_old}."
    return f"A finished time takes the simple past: {facts.not_old}."


def _tense_sequence(facts: EditFacts) -> str:
    verb = facts.verb
    if verb is not None and facts.new in verb.pasts:
        return f"The rest of the sentence is in the past, so '{verb.lemma}' is, too: {facts.not_old}."
    return f"This verb keeps to the tense of the other verb in the sentence: {facts.not_old}."


def _to_infinitive(facts: EditFacts) -> str:
    trigger = _quoted(facts.expression_before) or "this expression"
    return f"After {trigger} comes the infinitive with 'to': {facts.not_old}."


def _bare_infinitive(facts: EditFacts) -> str:
    if match := _BETTER_PHRASE.search(_text_before(facts)):
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


def _no_will(facts: EditFacts) -> str:
    trigger = facts.nearest(word_sets.CLAUSE_WORDS)
    if trigger in (None, "as") and (phrases := _CLAUSE_PHRASE.findall(_text_before(facts))):
        trigger = phrases[-1]
    clause = f"a clause with '{trigger}'" if trigger else "a clause of time or condition"
    return f"In {clause} the present tense stands for the future: {facts.not_old}."


def _modal_have(facts: EditFacts) -> str:
    trigger = _quoted(facts.nearest(word_sets.MODAL_PARTS)) or "a modal verb"
    return f"'of' is no verb: after {trigger} comes 'have'."


def _state_verb(facts: EditFacts) -> str:
    if facts.verb is None:
        return f"A verb that names a state takes the simple tense: {facts.not_old}."
    return f"'{facts.verb.lemma}' names a state here, so it takes the simple tense: {facts.not_old}."


def _ing_after_to(facts: EditFacts) -> str:
    return f"Here 'to' is a preposition, and the -ing form{_of_ing(facts)} follows it: {facts.not_old}."


def _unreal_past(facts: EditFacts) -> str:
    modal = parts_of(facts.previous or "")[-1]
    if facts.new.startswith("have ") and modal in _UNREAL_MODALS:
        return f"What did not happen takes 'have' and the past participle after '{facts.previous}': {facts.not_old}."
    if _UNREAL_MODALS.intersection(parts_of(facts.new.split(" ")[0])):
        return f"What is only imagined takes {facts.not_old}."
    if phrase := facts.phrase(_WISH_PHRASE):
        return f"What is only imagined takes a past form after '{phrase}': {facts.not_old}."
    return f"What is only imagined takes a past form: {facts.not_old}."


def _habit(facts: EditFacts) -> str:
    if facts.verb is None and facts.old.endswith(" " + facts.new):  # "is usually", before "playing"
        be = facts.old.removesuffix(" " + facts.new)
        return f"A habit takes the simple tense, without '{be}': {facts.not_old}."
    if phrase := facts.phrase(_HABIT_PHRASE):
        return f"A habit ('{phrase}') takes the simple tense: {facts.not_old}."
    return f"A habit takes the simple tense: {facts.not_old}."


def _past_perfect(facts: EditFacts) -> str:
    if facts.nearest({"if"}) and _RESULT_PHRASE.search(facts.sentence):
        return f"What did not happen takes the past perfect after 'if': {facts.not_old}."
    return f"What came before another past event takes the past perfect: {facts.not_old}."


def _do_support(facts: EditFacts) -> str:
    do = next((word for word in facts.new.split() if parts_of(word)[0] in word_sets.DO_PARTS), None)
    if do is None:
        return f"A question or a negative sentence needs a form of 'do' here: {facts.not_old}."
    if any(word_sets.NEGATIVE_PARTS.intersection(parts_of(word)) for word in facts.old.split()):
        return f"To become negative, this verb needs '{do}': {facts.not_old}."
    if facts.verb and facts.head == facts.verb.lemma != "do":
        return f"A question like this needs '{do}' before the subject and the base form of the verb: {facts.not_old}."
    return f"A question like this needs '{do}' before the subject: {facts.not_old}."


def _question_order(facts: EditFacts) -> str:
    first, *others = facts.new.split(" ")
    if parts_of(first)[0] in word_sets.INVERTED_PARTS and others:
        place = f"After '{facts.previous}'" if facts.previous in _INVERTING else "In a question"
        return f"{place} '{first}' comes before the subject: {facts.not_old}."
    if parts_of(facts.old.split(" ")[0])[0] in word_sets.INVERTED_PARTS:
        return f"Inside another sentence a question keeps the order of a statement: {facts.not_old}."
    return f"The order of the words is {facts.not_old}."


def _quoted(word: str | None) -> str | None:
    return f"'{word}'" if word else None


def _participles(facts: EditFacts) -> tuple[str, ...]:
    return facts.verb.participles if facts.verb else ()


def _of_verb(facts: EditFacts, forms: tuple[str, ...]) -> str:
    return f" of '{facts.verb.lemma}'" if facts.verb and facts.head in forms else ""


def _of_ing(facts: EditFacts) -> str:
    return _of_verb(facts, (facts.verb.ing, *facts.verb.variants) if facts.verb else ())


def _text_before(facts: EditFacts) -> str:
    return " ".join(map(plain, facts.before))


SYNTAX_TEMPLATES: dict[Reason, Callable[[EditFacts], str]] = {
    Reason.BASE_DO: _base_after(word_sets.DO_PARTS, "'do', 'does' or 'did'"),
    Reason.BASE_MODAL: _base_after(word_sets.MODAL_PARTS, "a modal verb"),
    Reason.BASE_TO: _base_after(frozenset(["to"]), "'to'"),
    Reason.PERF_PART: _participle_after_have,
    Reason.PASSIVE_PART: _participle_in_passive,
    Reason.BE_ING: _ing_after_be,
    Reason.MISSING_BE: _missing_be,
    Reason.EXTRA_BE: _extra_be,
    Reason.TENSE_PAST: _past_tense,
    Reason.TENSE_FUT: _future_tense,
    Reason.TENSE_PERF: _perfect_tense,
    Reason.PAST_NOT_PERF: _past_not_perfect,
    Reason.TENSE_SEQ: _tense_sequence,
    Reason.TO_INF: _to_infinitive,
    Reason.BARE_INF: _bare_infinitive,
    Reason.ING_PREP: _ing_after_preposition,
    Reason.ING_VERB: _ing_after_verb,
    Reason.NO_WILL: _no_will,
    Reason.MODAL_OF: _modal_have,
    Reason.STATIVE: _state_verb,
    Reason.ING_TO: _ing_after_to,
    Reason.WISH_PAST: _unreal_past,
    Reason.HABIT: _habit,
    Reason.PAST_PERF: _past_perfect,
    Reason.DO_SUPPORT: _do_support,
    Reason.QUESTION_ORDER: _question_order,
}
