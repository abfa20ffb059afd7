"""Finds groups of people as subjects, which have a plural verb in British English: "The team are playing"."""

from __future__ import annotations

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings import agreement
from api.grammar.surroundings.context import Context, is_mark, is_plural, without_adverbs
from api.grammar.verb_words import parts_of

_DETERMINERS = frozenset(["the", "my", "your", "his", "her", "its", "our", "their"])
# Not verbs that have objects, too: "He who knows the band [has] luck".
_REPORTING = word_sets.REPORTING_VERBS - frozenset("know knows knew believe believes".split())
_BEFORE = LISTS["opening"] | _REPORTING | frozenset("that which what how why whom then".split())
_LINKING = frozenset(["and", "but", "so", "now", "today"])
_OF_ONE = frozenset(["its", "itself"])


def is_of_a_group(context: Context) -> bool:
    """Return whether the subject is a group of people, who are many to the British: "The team [is] playing"."""
    is_one = context.edit.source[0].lower() == "am" or not _OF_ONE.isdisjoint(context.after[:4])
    if is_one or not agreement.makes_singular(context.edit):
        return False
    words = without_adverbs(context.clause_before)
    if not words or words[-1] in word_sets.QUESTION_WORDS:
        return _asks_of_a_group(context)
    if words[0] in _LINKING:  # "but the crew" begins a clause, "all but the crew" does not
        words = words[1:]
    starts = [at for at, word in enumerate(words) if word in _DETERMINERS and (not at or words[at - 1] in _BEFORE)]
    subject = agreement.subject_of(context, words[starts[-1] :]) if starts else None
    if subject is None or subject.noun[-1] not in LISTS["groups"]:
        return False
    return not any(map(is_plural, subject.rest))  # "The team behind the films [is]"


def _asks_of_a_group(context: Context) -> bool:
    """Return whether the auxiliary before a group asks about it: "What do the staff think?".

    A verb or a closed-class word behind it tells it from the first part of a noun: "Where do the team captain live?".
    """
    determiner, noun, word, behind = [*context.after[:4], "", "", "", ""][:4]
    if determiner not in _DETERMINERS or noun not in LISTS["groups"] or context.before[-1:] == ["there"]:
        return False
    auxiliary = parts_of(context.edit.source[0])[0]
    if auxiliary == "do":
        return context.has_form(word, "base") and not context.has_form(behind, "base")
    if auxiliary == "have":
        return context.has_form(word, "participle")
    is_closed = not word or is_mark(word) or word in word_sets.CLOSED_CLASS  # "Who are the band?"
    return auxiliary in ("are", "were") and (is_closed or agreement.is_verbal(context, word))
