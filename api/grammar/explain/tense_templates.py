"""Explains tenses: with 'yesterday', with 'since', in habits, after 'if' and in wishes."""

from __future__ import annotations

import re
from collections.abc import Callable

from api.grammar import word_sets
from api.grammar.explain.edit_facts import EditFacts
from api.grammar.explain.syntax_templates import SYNTAX_TEMPLATES
from api.grammar.reasons import Reason
from api.grammar.verb_words import NEGATIONS, full_forms, parts_of, plain

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
_BEEN = re.compile(r"(?:am|is|are|was|were) been")
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
_CLAUSE_PHRASE = re.compile(r"\b(?:(?:as soon|as long) as|by the time|the moment)\b")
_UNREAL_MODALS = frozenset(["would", "could", "might", "'d"])
_RESULT_PHRASE = re.compile(r"\b(?:would|could|might)(?:n['\u2019]t)?\b", re.IGNORECASE)
_WISH_PHRASE = re.compile(
    r"\b(?:wish(?:es|ed)?|if only|as if|as though|if|would rather|it(?:'s| is) (?:high |about )?time)\b", re.IGNORECASE
)
_WISHES = frozenset(["wish", "wishes", "wished", "if only"])


def _past_tense(facts: EditFacts) -> str:
    words = [word for word in map(plain, facts.before) if word not in word_sets.ADVERBS]
    be_or_have = parts_of(words[-1] if words else "")[-1]
    if facts.verb and facts.head in facts.verb.participles:
        if be_or_have in word_sets.BE_PARTS - {"'s"}:
            return SYNTAX_TEMPLATES[Reason.PASSIVE_PART](facts)
        if facts.head not in facts.verb.pasts and be_or_have in word_sets.HAVE_PARTS:  # but "the dog I had barked"
            return SYNTAX_TEMPLATES[Reason.PERF_PART](facts)
    if facts.head == "used" and facts.after and plain(facts.after[0]) == "to":
        return f"For something that was true in the past but no longer is, use 'used to': {facts.not_old}."
    form = f"the past tense{facts.of_verb(facts.verb.pasts if facts.verb else ())}"
    if phrase := facts.phrase(_PAST_PHRASE):
        return f"'{phrase}' calls for {form}: {facts.not_old}."
    return f"The sentence is about the past and needs {form}: {facts.not_old}."


def _future_tense(facts: EditFacts) -> str:
    if phrase := facts.phrase(_FUTURE_PHRASE):
        return f"'{phrase}' points to the future: {facts.not_old}."
    return f"The sentence is about the future, so the verb is {facts.not_old}."


def _perfect_tense(facts: EditFacts) -> str:
    following = plain(facts.after[0]) if facts.after else ""
    if _BEEN.fullmatch(f"{facts.old} {following}") or _BEEN.fullmatch(facts.old):
        return f"Before 'been' stands a form of 'have': {facts.not_old}."
    tense = "perfect" if facts.new.startswith("had") else "present perfect"
    if not facts.new.startswith("had ") and (phrase := facts.phrase(_PERFECT_PHRASE)):
        return f"'{phrase}' calls for the {tense}: {facts.not_old_with_ing}."
    if phrase := facts.phrase(_SO_FAR_PHRASE):
        return f"Looking back, '{phrase}' goes with the {tense}: {facts.not_old_with_ing}."
    return f"What reaches up to the time spoken of takes the {tense}: {facts.not_old_with_ing}."


def _past_not_perfect(facts: EditFacts) -> str:
    if phrase := facts.phrase(_PAST_PHRASE):
        return f"'{phrase}' refers to a finished time and takes the simple past: {facts.not_old}."
    return f"A finished time takes the simple past: {facts.not_old}."


def _tense_sequence(facts: EditFacts) -> str:
    verb = facts.verb
    if verb is not None and facts.new in verb.pasts:
        return f"The rest of the sentence is in the past, so '{verb.lemma}' is, too: {facts.not_old}."
    if _is_after_if(facts) and _has_unreal_modal(facts):
        return f"After 'if' with an imagined past comes {facts.not_old}."
    return f"This verb keeps to the tense of the other verb in the sentence: {facts.not_old}."


def _no_will(facts: EditFacts) -> str:
    trigger = facts.nearest(word_sets.CLAUSE_WORDS)
    if trigger in (None, "as") and (phrases := _CLAUSE_PHRASE.findall(facts.text_before)):
        trigger = phrases[-1]
    clause = f"a clause with '{trigger}'" if trigger else "a clause of time or condition"
    return f"In {clause} the present tense stands for the future: {facts.not_old}."


def _is_new_do(facts: EditFacts) -> bool:
    """Return whether the edit only puts 'do' for 'be': "[Are] you eating?". Another edit changes the verb."""
    parts = [part for word in facts.old.split(" ") for part in parts_of(word)]
    was_be = parts[0] in word_sets.BE_PARTS and NEGATIONS.issuperset(parts[1:])
    return was_be and " " not in facts.new and parts_of(facts.new)[0] in word_sets.DO_PARTS


def _state_verb(facts: EditFacts) -> str:
    if _is_new_do(facts):
        return _SIMPLE_DO.format(facts.not_old)
    if facts.verb is None:
        return f"A verb that names a state takes the simple tense: {facts.not_old}."
    is_perfect = "been" in facts.old.split(" ") or parts_of(facts.previous or "")[-1] in word_sets.HAVE_PARTS
    rule = "is not used in the -ing form" if is_perfect else "takes the simple tense"
    return f"'{facts.verb.lemma}' names a state here, so it {rule}: {facts.not_old}."


def _unreal_past(facts: EditFacts) -> str:
    modal = parts_of(facts.previous or "")[-1]
    if facts.new.startswith("have ") and modal in _UNREAL_MODALS:
        return f"What did not happen takes 'have' and the past participle after '{facts.previous}': {facts.not_old}."
    if _has_unreal_modal(facts) and _is_after_if(facts):
        return f"After 'if' with an imagined past comes {facts.not_old}."
    if _has_unreal_modal(facts) and _is_before_if(facts):
        return f"With 'if' and an imagined past goes {facts.not_old}."
    phrases = _WISH_PHRASE.findall(facts.text_before)
    if phrases and phrases[-1] in _WISHES:
        is_perfect = " " in facts.new and parts_of(facts.new.split(" ")[0])[0] == "had"
        form = "the past perfect" if is_perfect else "a past form"
        return f"A wish takes {form}: {facts.not_old}."
    if phrases and not (_has_unreal_modal(facts) and phrases[-1] == "if"):
        return f"What is only imagined takes a past form after '{phrases[-1]}': {facts.not_old}."
    return f"What is only imagined takes {'' if _has_unreal_modal(facts) else 'a past form: '}{facts.not_old}."


def _has_unreal_modal(facts: EditFacts) -> bool:
    return any(part in _UNREAL_MODALS for word in facts.new.split(" ") for part in parts_of(word))


def _is_after_if(facts: EditFacts) -> bool:
    """Return whether the edit is in the main clause after 'if': 'If I knew, I will tell you'."""
    clause = rf"if\b[^,;:]*, (?:[\w'-]+ ){{0,2}}{re.escape(facts.old)}\b"
    return re.match(clause, facts.sentence.lower().replace("\u2019", "'")) is not None


def _is_before_if(facts: EditFacts) -> bool:
    """Return whether the edit is in the main clause before 'if': 'I will tell you if I knew'."""
    return not _WISH_PHRASE.search(facts.text_before) and "if" in map(plain, facts.after)


def _habit(facts: EditFacts) -> str:
    if _is_new_do(facts):
        return _SIMPLE_DO.format(facts.not_old)
    habit = f"A habit ('{phrase}')" if (phrase := facts.phrase(_HABIT_PHRASE)) else "A habit"
    parts = [part for word in facts.old.split(" ") for part in parts_of(word)]
    be = [part for part in parts if part in word_sets.BE_PARTS]
    rest = [part for part in parts if part not in be]  # "I usually" of "I'm usually"
    if len(be) == 1 and facts.new.split(" ") == rest:
        return f"{habit} takes the simple tense: no '{full_forms(be[0])[0]}' here."
    return f"{habit} takes the simple tense: {facts.not_old}."


def _past_perfect(facts: EditFacts) -> str:
    if facts.nearest({"if"}) and _RESULT_PHRASE.search(facts.sentence):
        return f"What did not happen takes the past perfect after 'if': {facts.not_old}."
    participle = plain(facts.after[0]) if facts.new == "had" and facts.after else ""
    if not participle or participle in word_sets.CLOSED_CLASS or participle.endswith("ly"):
        return f"What came before another past event takes the past perfect: {facts.not_old}."
    change = f"'had {participle}', not '{facts.old} {participle}'"
    return f"What came before another past event takes the past perfect: {change}."


_SIMPLE_DO = "The simple tense makes its questions and negatives with 'do': {}."

TENSE_TEMPLATES: dict[Reason, Callable[[EditFacts], str]] = {
    Reason.TENSE_PAST: _past_tense,
    Reason.TENSE_FUT: _future_tense,
    Reason.TENSE_PERF: _perfect_tense,
    Reason.PAST_NOT_PERF: _past_not_perfect,
    Reason.TENSE_SEQ: _tense_sequence,
    Reason.NO_WILL: _no_will,
    Reason.STATIVE: _state_verb,
    Reason.WISH_PAST: _unreal_past,
    Reason.HABIT: _habit,
    Reason.PAST_PERF: _past_perfect,
}
