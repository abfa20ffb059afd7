"""Finds participles and words that lack nothing: titles, captions, reduced clauses, asides.

"Weekly team [is meeting]", "the program [showed] below", "There is a man [is waiting]".
"""

from __future__ import annotations

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings.context import Context, is_mark, is_plural, plain_tokens
from api.grammar.verb_words import parts_of

# Without an object they are passive: "the symbols shown below", "documentation taken from the code".
_TRANSITIVE = frozenset(["shown", "given", "taken", "known", "chosen"])
# "spot on", "brand new", "rid of": no participle.
_ADJECTIVES = frozenset(["spot on", "bang on", "dead on", "brand new", "trigger happy", "rid of"])
_TIMES = word_sets.CLAUSE_WORDS | frozenset("soon whether case provided as long".split())
_OBJECTS = frozenset(["me", "him", "us", "them", "to"])
_OF_ANOTHER_CLAUSE = (
    word_sets.SUBJECT_PRONOUNS | word_sets.RELATIVE_PRONOUNS | word_sets.CLAUSE_STARTS | word_sets.QUESTION_WORDS
)
_NUMBERS = frozenset("two three four five six ten".split())
_BRACKETS = {"(": ")", "[": "]"}
_ENDS = frozenset(".!?")
_NO_SUBJECTS = frozenset(["but", "and", "or", "if", "do"])


def is_of_a_title(context: Context) -> bool:
    """Return whether nothing lacks a 'be': a title, a sound in brackets, an aside, a list behind 'there is'."""
    before, sentence, source = context.before, context.sentence.strip(), context.edit.source[-1]
    if not before:
        return False
    if _BRACKETS.get(sentence[0]) == sentence[-1] or (is_mark(before[-1]) and before[-1] in ",:;([\u2014\u2013-"):
        return True
    if before[-1] in _OBJECTS:
        return True
    if before[0] == "there" or parts_of(before[0]) == ("there", "'s"):
        return source.endswith("ing")
    if not context.has_form(source.lower(), "ing"):
        return _has_a_verb_of_its_own(context) and (
            before[-1] in word_sets.DETERMINERS or context.has_form(source.lower(), "participle")
        )
    if source.istitle() or (before[-1] == "you" and _is_address(context)):
        return True
    clause = context.clause_before
    if _has_a_verb_of_its_own(context):
        return True
    is_of_state = not context.words.lemmas_of(source.lower()).isdisjoint(LISTS["states"])
    if is_of_state and before[-1] not in word_sets.SUBJECT_PRONOUNS:
        return True
    is_bare = word_sets.CLOSED_CLASS.isdisjoint(clause)
    is_bare = is_bare and word_sets.DETERMINERS.isdisjoint(context.after[:1])
    is_title = len(clause) > 1 and not is_plural(clause[-1])
    is_title = is_title and not any(word.istitle() for word in context.before_as_written[1:])
    is_title |= source.lower() == "using"
    is_unended = sentence[-1] not in _ENDS and source.lower() in LISTS["gerunds"]
    return is_bare and (is_unended or is_title)


def _has_a_verb_of_its_own(context: Context) -> bool:
    """Return whether a finite verb follows the phrase: "all that is [is collected] in it will be used"."""
    words = context.clause_after
    at = next((at for at, word in enumerate(words) if word in LISTS["finite"]), len(words))
    return at < len(words) and _OF_ANOTHER_CLAUSE.isdisjoint(words[:at])


def _is_address(context: Context) -> bool:
    """Return whether somebody is called something: "you lying thief!"."""
    is_last = len(context.after) == 1 and context.after[0] not in word_sets.CLOSED_CLASS
    return is_last and context.sentence.rstrip().endswith("!")


def is_reduced(context: Context) -> bool:
    """Return whether a participle belongs to the noun before: "the program [showed] below", "[took] from it"."""
    source, after = context.edit.source[-1].lower(), context.after[:1]
    noun = context.before[-1:]
    if source not in _TRANSITIVE or not noun or noun[0] in word_sets.CLOSED_CLASS or noun[0].endswith("ly"):
        return False
    return not after or is_mark(after[0]) or after[0] in word_sets.PREPOSITIONS or after[0] in LISTS["places"]


def is_an_adjective(context: Context) -> bool:
    """Return whether the word is no verb: "spot on", "personally identifying", and what follows a colon."""
    source = context.edit.source[-1].lower()
    if source.endswith("ing"):
        return context.before[-1:] != [] and context.before[-1].endswith("ly")
    return context.before[-1:] == [":"] or " ".join([source, *context.after[:1]]) in _ADJECTIVES


def is_so_far(context: Context) -> bool:
    """Return whether a participle ends a phrase without a verb: "The command line [typed] so far."."""
    source, before = context.edit.source, context.before[-1:]
    is_participle = len(source) == 1 and context.has_form(source[0].lower(), "participle")
    return (
        context.after == ["so", "far"]
        and is_participle
        and (word_sets.SUBJECT_PRONOUNS | word_sets.INDEFINITE_PRONOUNS).isdisjoint(before)
    )


def is_of_no_time(context: Context) -> bool:
    """Return whether no clause of time or condition has the 'will': "Removing it [removes] all"."""
    words = context.clause_before
    if "case" in words and words[words.index("case") - 1] != "in":  # "in this case you [will]"
        words = words[words.index("case") + 1 :]
    if _TIMES.isdisjoint(words):
        return True
    at = words.index("if") if "if" in words else 0
    return any(not context.words.lemmas_of(word).isdisjoint(LISTS["of_knowing"]) for word in words[max(0, at - 3) : at])


def asks_for_a_reason(context: Context) -> bool:
    """Return whether a question of 'why' and a thing lacks nothing: "Why [are two] versions?", "Why [is the] wait?"."""
    words = plain_tokens(context.sentence)
    if words[:1] != ["why"] or words[-1] != "?" or not 4 <= len(words) <= 5:
        return False
    opens, last = words[1], words[-2]
    is_state = last in LISTS["adjectives"] or bool({"ing", "participle"}.intersection(context.words.forms_of(last)))
    return (opens in word_sets.DETERMINERS | word_sets.AMOUNTS | {"another"} or opens in _NUMBERS) and not is_state


def is_without_subject(context: Context) -> bool:
    """Return whether 'not' stands with a participle: "files [do not belong] to it", ", [did not use]"."""
    source, clause = [word.lower() for word in context.edit.source], context.clause_before
    if not word_sets.DO_PARTS.isdisjoint(source):
        return False
    if source[0] == "not":
        is_passive = context.has_form(source[-1], "participle") and not word_sets.BE_PARTS.isdisjoint(clause[:2])
        is_aside = context.before != [] and (not clause or clause[-1] in _NO_SUBJECTS)
        return is_passive or is_aside or source[-1].endswith("ing")
    return len(clause) > 1 and clause[-1] in ("how", "when", "where", "why") and clause[-2] not in _NO_SUBJECTS
