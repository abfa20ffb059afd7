"""Finds nouns and participles behind a preposition, where the edit sees a verb: "a hook for [pushing] events".

'to' is a preposition, too: "mapped to [specialize] classes", "a response to [report] problems".
"""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings.agreement import PEOPLE
from api.grammar.surroundings.context import Context, is_mark, is_plural
from api.grammar.surroundings.nouns import is_part_of_a_noun
from api.grammar.verb_words import parts_of

# Also behind their object 'to' is a preposition: "directs you to related topics".
_TO_VERBS_WITH_OBJECTS = LISTS["to_verbs_with_objects"]
_BEFORE_OBJECTS = word_sets.DETERMINERS | word_sets.PREPOSITIONS  # "the number of objects to send"
_PARTING = frozenset([",", ";", ":", ")", "\u2014"])
_GROWING = frozenset("get become grow feel seem look sound appear remain stay keep".split())  # used to it
_HOW_USED = word_sets.ADVERBS | frozenset(
    "so very quite more most too well much less yet long pretty indeed far rather fairly somewhat no longer".split()
)
_BEFORE_USED = (
    word_sets.ADVERBS | word_sets.MODAL_PARTS | word_sets.HAVE_PARTS | word_sets.BE_PARTS | word_sets.NEGATIVE_PARTS
)
_POINTING = frozenset("the a an this each every".split())
_PERSONS = (
    LISTS["persons_in_s"] | PEOPLE | word_sets.COLLECTIVE_NOUNS
    | frozenset(
        "child man woman person men women people baby boss coach lady secretary witness son brother sister daughter "
        "mother father grandmother grandfather uncle aunt wife husband employee nurse doctor soldier dog cat".split()
    )
)  # fmt: skip
_NOT_PERSONS = frozenset(["it", "this", "that", "which", "these", "those"])


def is_behind_a_preposition_to(context: Context) -> bool:
    """Return whether 'to' is a preposition here: "in response to [report] problems", "from rags to [rich]"."""
    words, source = context.clause_before, context.edit.source[-1].lower()
    if words[-1:] != ["to"]:
        return "to" not in (*words[-3:], *context.edit.source, *context.edit.replacement)
    if len(words) < 2 or context.has_form(source, "base"):
        return False
    behind, inner = words[-2], words[-6:-2]
    if behind in LISTS["to_nouns"] or _has_lemma(context, [behind], LISTS["to_verbs"]):
        return True
    if behind in word_sets.OBJECT_PRONOUNS:
        return _has_lemma(context, inner[-1:], _TO_VERBS_WITH_OBJECTS | {"set", "add"})
    # "from small ambushes to clashes", "from endangered to threatened"
    is_range = (is_plural(behind) and "from" in inner[-2:]) or (behind.endswith("ed") and inner[-1:] == ["from"])
    is_of_things = source.endswith("ed") and any(map(is_plural, context.after[:2])) and has_no_governor(context)
    return (
        is_range
        or (is_of_things and context.after[0] not in word_sets.CLOSED_CLASS)
        or (behind not in word_sets.CLOSED_CLASS and _has_lemma(context, inner, _TO_VERBS_WITH_OBJECTS))
    )


def is_noun_behind_a_preposition(context: Context) -> bool:
    """Return whether a noun stands there: "by [forcing]", "for [building] scripts", "avoid [building] warnings"."""
    word, before, after = context.edit.source[-1].lower(), context.before[-1:], context.after[:1]
    is_alone = not after or is_mark(after[0]) or after[0] in word_sets.PREPOSITIONS or after[0] in ("to", "and", "or")
    if len(context.edit.source) > 1:
        return False
    if word in LISTS["kept"] and _has_lemma(context, before, frozenset(["keep"])):
        return True
    if word in LISTS["bare_nouns"] and is_alone:
        return before not in (["without"], ["before"], ["after"]) or word in LISTS["never_doubted"]
    is_open = is_alone or after[0] in word_sets.CLOSED_CLASS or after[0] in LISTS["particles"] or after[0] == "yet"
    return (word in LISTS["first_parts"] and not is_open) or is_part_of_a_noun(context)


def is_behind_a_mark(context: Context) -> bool:
    """Return whether a mark parts the verb from what would ask for an -ing: "If on, [emit] a line"."""
    return context.before[-1:] != [] and context.before[-1] in _PARTING


def is_of_a_purpose(context: Context) -> bool:
    """Return whether things are used for it: "Boats are used to [travelling]"; or 'objects' is a noun."""
    words = context.clause_before
    if words[-1:] != ["to"] or len(words) < 3:
        return False
    if words[-2] in ("object", "objects"):
        is_subject = words[-3] in word_sets.SUBJECT_PRONOUNS or (is_plural(words[-3]) and words[-2] == "object")
        return not is_subject and (
            words[-2] == "object" or words[-3] in _BEFORE_OBJECTS or words[-3].endswith(("'s", "ing"))
        )
    return words[-2] == "used" and _is_used_for_it(context, _before_used(words))


def _before_used(words: Sequence[str]) -> Sequence[str]:
    """Return the words before "used to", without what says how much, how often or in which way."""
    words = words[:-2]
    while words and (words[-1] in _HOW_USED or words[-1].endswith("ly")):
        words = words[:-1]
    return words


def _is_used_for_it(context: Context, words: Sequence[str]) -> bool:
    """Return whether a thing is used, or a habit is told: "The saw is used to", "a device used to", "He used to"."""
    if not words or _has_lemma(context, words, _GROWING):
        return False
    verb = parts_of(words[-1])
    if word_sets.BE_PARTS.isdisjoint(verb):
        if words[0] in word_sets.BE_PARTS:  # "Are these keys used to"
            return _is_thing(words)
        return words[-1] not in word_sets.CLOSED_CLASS or words[-1] in word_sets.SUBJECT_PRONOUNS
    words = [*words[:-1], *verb[:-1]]
    while words and words[-1] in _BEFORE_USED:
        words = words[:-1]
    return _is_thing(words) if words else verb != ("being",)


def _is_thing(words: Sequence[str]) -> bool:
    """Return whether the last word is a subject that can be used: "it", "these keys", "the saw"."""
    *_, before, noun = ["", *words]
    if noun in _NOT_PERSONS or noun in word_sets.SUBJECT_PRONOUNS:
        return noun in _NOT_PERSONS
    return not is_person(noun) and (is_plural(noun) or before in _POINTING)


def is_person(noun: str) -> bool:
    """Return whether it is a noun for a person, for people or for an animal that one has."""
    return not _PERSONS.isdisjoint([noun, f"{noun}s", noun.removesuffix("s")])


def is_used_to_it(context: Context) -> bool:
    """Return whether somebody is used to doing it: "They are no longer used to [walk]", written rightly "walking"."""
    words = context.clause_before
    if words[-2:] != ["used", "to"] or not context.has_form(context.edit.source[-1].lower(), "ing"):
        return False
    before = _before_used(words)
    if not before:  # "I am, of course, used to [sleep] outside"
        return len(words) < len(context.before) and not is_of_a_purpose(context)
    is_behind_be = not word_sets.BE_PARTS.isdisjoint(parts_of(before[-1]))
    return (is_behind_be or _has_lemma(context, before[-1:], _GROWING)) and not is_of_a_purpose(context)


def has_no_governor(context: Context) -> bool:
    """Return whether no word asks for an infinitive in the place of the -ing: "refreshed [to use] it"."""
    words = context.clause_before[-6:]
    return (
        LISTS["able"].isdisjoint(words)
        and "'d" not in "".join(words)
        and not _has_lemma(context, words, LISTS["governors"])
    )


def is_help(context: Context) -> bool:
    """Return whether 'help' is a noun: "She wants [to help] writing the letter"."""
    source, after = context.edit.source, context.after[:1]
    is_noun = [word.lower() for word in source] == ["help"] and after != [] and after[0].endswith("ing")
    return is_noun and context.has_form(after[0], "ing")


def _has_lemma(context: Context, words: Sequence[str], lemmas: frozenset[str]) -> bool:
    return any(not context.words.lemmas_of(word).isdisjoint(lemmas) for word in words)
