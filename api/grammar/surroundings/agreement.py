"""Finds subjects whose number the model may mistake, and lines that have none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from api.grammar import nouns, word_sets
from api.grammar.lists import LISTS
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surroundings.context import TOKEN, Context, is_mark, is_plural, without_adverbs
from api.grammar.verb_words import parts_of

_PERSONS = {"i": "first", "he": "singular", "she": "singular", "we": "plural", "they": "plural"}
_NOT_BE = {
    "first": frozenset(["is", "are", "isn't", "aren't"]),
    "singular": frozenset(["am", "are", "aren't"]),
    "plural": frozenset(["am", "is", "was", "isn't", "wasn't"]),
}
NOT_FOR = {Reason.SVA_SG: ("first", "plural"), Reason.SVA_PL: ("singular",)}
JOINING = frozenset(["and", "or", "nor", "than", "as", "like", "&"])  # "Ann and I are", "people like he"
_BUT_ONE = re.compile(r"(?<![Aa]ll )\bbut [A-Z][a-z]*[a-rt-z] $")  # "but Dubai [is] rich"; "all but Tom are" is right
_THAT_IS = re.compile(r"[,;(] that $")  # "the same borders, that [is], one town"
_QUOTED = re.compile(
    r"(?:^|[\s(])(?:\"[^\"]{1,40}\"|\u201c[^\u201d]{1,40}\u201d|'[^']{1,40}'|\u2018[^\u2019]{1,40}\u2019) $"
)
_PERIOD = "(?:night|week|month|year|summer|winter|spring|autumn)"
_FINISHED = re.compile(rf"\b(?:yesterday|ago|last {_PERIOD}|in (?:1[5-9]\d\d|20[01]\d))\b")
NEW_CLAUSE = (
    word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | word_sets.SUBJECT_PRONOUNS | word_sets.INVERTED_PARTS
) - {"than"} | {"to"}  # fmt: skip
_ONE_BE = frozenset(["is", "was", "isn't", "wasn't"])
_MANY_BE = frozenset(["are", "were", "aren't", "weren't"])
_BE_OF_TWO = frozenset(["are", "were"])
# One word for many, or a plural without -s: "a number of cars have", "the rich have".
CROWDS = word_sets.COLLECTIVE_NOUNS | word_sets.PLURAL_NOUNS | LISTS["crowds"]
# With 'the' many people: "the rich have".
PEOPLE = LISTS["people"] | LISTS["peoples"]
_MOST = frozenset(["bulk", "last", "majority", "rest"])  # with either number
_OBJECT_PRONOUNS = frozenset(["them", "him", "me", "us"])
_OF = word_sets.PREPOSITIONS | {"and", "or", "to"}
_FEW = word_sets.AMOUNTS | word_sets.COUNTS | frozenset("such other certain various".split())
_INNER = word_sets.DETERMINERS | word_sets.PREPOSITIONS | word_sets.AMOUNTS
_OPENING = LISTS["opening"]
_BEFORE_MANY = word_sets.DETERMINERS | word_sets.AMOUNTS | {"and", "or"}
_POINTING = frozenset(["there", "here"])
_AFTER_NOUNS = word_sets.AFTER_A_NOUN | word_sets.RELATIVE_PRONOUNS | word_sets.CLAUSE_STARTS | {"to"}
_BEFORE_A_SUBJECT = _OPENING | frozenset("that which what how why whom".split())
_PLURALS_WITHOUT_S = frozenset("data media criteria phenomena bacteria strata".split())
_SINGULAR_DETERMINERS = frozenset(["this", "that", "a", "an", "each", "every", "much", "one", "little"])


class Subject(NamedTuple):
    """Holds "the old colour of the walls": the determiner, if any, the noun with its adjectives, and the rest."""

    determiner: str
    noun: Sequence[str]
    rest: Sequence[str]


def disagrees(context: Context) -> bool:
    """Return whether a pronoun right before the verb asks for another form: "they [walks]"."""
    edit, words = context.edit, without_adverbs(context.before)
    person = _PERSONS.get(words[-1]) if words else None
    if person is None or (len(words) > 1 and words[-2] in JOINING):
        return False
    if edit.reason is Reason.SVA_BE:
        return edit.replacement[0].lower() in _NOT_BE[person]
    return person in NOT_FOR[edit.reason]


def is_of_another_subject(context: Context) -> bool:
    """Return whether 'be' goes with "but Dubai" or "that is": "I like Fujairah but Dubai [are] rich"."""
    before = context.text_before
    is_are = context.edit.replacement[0] in ("are", "were") and "but " in before
    is_one = is_are and _BUT_ONE.search(before) is not None
    return is_one or (_THAT_IS.search(before) is not None and context.after[:1] == [","])


def is_over(context: Context) -> bool:
    """Return whether the time that follows in the same clause is over: "[remains] high in 1973"."""
    if not context.holds("ago", "in ", "last ", "yesterday"):
        return False
    after = context.text_after.lower()
    time = _FINISHED.search(after)
    if time is None or context.words.may_be_past(parts_of(context.edit.replacement[0])[0]):
        return False
    words = TOKEN.findall(after[: time.start()])
    return words[-1:] not in (["from"], ["of"]) and not any(_may_be_a_verb(word, context) for word in words)


def _may_be_a_verb(word: str, context: Context) -> bool:
    is_verb = word.endswith(("ing", "ed")) or context.words.may_be_past(word)
    return is_verb or not NEW_CLAUSE.isdisjoint(parts_of(word))


def is_of_things_that_do(context: Context) -> bool:
    """Return whether the subject is a plural with an -ing before it, and no activity: "Rising costs [is] a problem"."""
    if not makes_singular(context.edit):
        return False
    subject = without_adverbs(context.clause_before)
    if len(subject) < 2 or not context.has_form(subject[0], "ing"):
        return False
    place = 1 if is_plural(subject[1]) else 2  # "Rising energy costs"
    if len(subject) <= place or not is_plural(subject[place]) or subject[1] in word_sets.CLOSED_CLASS:
        return False
    if len(subject) > place + 1 and subject[place + 1] not in word_sets.PREPOSITIONS:
        return False
    is_activity = not context.words.lemmas_of(subject[0]).isdisjoint(LISTS["activities"])
    return not is_activity or subject[place] in LISTS["kinds"]


def is_of_latin_plural(context: Context) -> bool:
    """Return whether the subject is a plural that lacks an -s: "Data [was] collected", "The media [has] reported"."""
    if not makes_singular(context.edit):
        return False
    subject = context.clause_before
    if not subject or subject[-1] in word_sets.QUESTION_WORDS | _POINTING:  # "Are the data ready?"
        subject = context.after[:4]
    if _PLURALS_WITHOUT_S.isdisjoint(subject):
        return False
    for at, word in enumerate(subject):
        if word in word_sets.PREPOSITIONS or word in word_sets.CLAUSE_STARTS - {"when", "if", "because"}:
            return False
        if word in _PLURALS_WITHOUT_S:
            following = without_adverbs(subject[at + 1 :])
            is_head = subject is not context.clause_before or not following or following[0] in word_sets.PREPOSITIONS
            return is_head and _SINGULAR_DETERMINERS.isdisjoint(subject[:at])
    return False


def is_of_one_thing(context: Context) -> bool:
    """Return whether the subject is one thing, and no crowd: "The first dataset [have]", "A class of stars [show]"."""
    if not makes_plural(context.edit):
        return False
    if _is_activity(context):
        return True
    head = _head(context) or _noun_right_before(context) or _noun_of_clause_before(context)
    return head is not None and not is_plural(head) and head not in CROWDS | PEOPLE and not head.endswith("men")


def is_of_a_people(context: Context) -> bool:
    """Return whether the subject is a people without an -s: "The Apache [is] known"."""
    return makes_singular(context.edit) and not LISTS["peoples"].isdisjoint(without_adverbs(context.before)[-1:])


def is_of_a_quoted_name(context: Context) -> bool:
    """Return whether the subject is a name in quotation marks: "If 'options' [contain] it", '"Two Rivers" [were]'."""
    found = _QUOTED.search(context.text_before) if makes_plural(context.edit) else None
    previous = context.text_before[: found.start()].lower().split()[-1:] if found else ["the"]
    return _BEFORE_MANY.isdisjoint(previous)


def is_of_many_things(context: Context) -> bool:
    """Return whether the subject is a plural: "Certain macros [is]", "The rooms in the house [has]"."""
    if not makes_singular(context.edit):
        return False
    head = _head(context)
    if head is None or head in LISTS["amounts"] | word_sets.SINGULAR_NOUNS_IN_S | nouns.NAMES_IN_S:
        return False
    is_of_people = head in PEOPLE and context.clause_before[-2:-1] == ["the"]
    if head in _MOST or is_of_people or not is_plural(head):
        return head in _MOST or is_of_people
    return _SINGULAR_DETERMINERS.isdisjoint(context.clause_before)


def is_of_either_number(context: Context) -> bool:
    """Return whether the subject goes with both forms, or is a number of things: "none [is]", "Two [is] here"."""
    subject = without_adverbs(context.clause_before)
    return subject[-1:] == ["none"] or (len(subject) == 1 and subject[0] in word_sets.COUNTS)


def is_before_many_things(context: Context) -> bool:
    """Return whether a plural follows: "There [is] two open doors"."""
    if not makes_singular(context.edit) or _POINTING.isdisjoint(context.before[-1:]):
        return False
    after = context.clause_after
    end = next((at for at, word in enumerate(after) if word in _AFTER_NOUNS), len(after))
    return end > 0 and is_plural(after[end - 1]) and not {"a", "an", "and"} & set(after[:end])


def is_of_two_things(context: Context) -> bool:
    """Return whether 'and' with a determiner joins two subjects: "The joy of it and the pain [is] close"."""
    words = context.clause_before
    if not makes_singular(context.edit) or "and" not in words or not LISTS["one_or_both"].isdisjoint(words):
        return False
    at = len(words) - 1 - words[::-1].index("and")
    first, other = words[:at], words[at + 1 :]
    is_pair = bool(first) and first[0] in word_sets.DETERMINERS and len(other) > 1 and other[0] in word_sets.DETERMINERS
    others = [word for word in (*first[1:], *other[1:]) if word in word_sets.CLOSED_CLASS]
    return is_pair and set(others) <= {"of", "one"} | word_sets.DETERMINERS


def is_of_speaker_and_another(context: Context) -> bool:
    """Return whether 'I' is one of two in a question: "When are Tom and I [am] leaving?"."""
    before, after = context.before, context.clause_after
    is_before = before[-2:] == ["and", "i"] and not _BE_OF_TWO.isdisjoint(before)
    is_behind = ["and", "i"] in (after[1:3], after[2:4]) and word_sets.QUESTION_WORDS.issuperset(before)
    return is_before or (is_behind and context.edit.source[0].lower() in _BE_OF_TWO)


def is_of_an_object(context: Context) -> bool:
    """Return whether the word before is an object of another verb: "you call them [bomb]", "you [fool]!"."""
    before = context.before
    if before[-1:] != [] and before[-1] in LISTS["possessives"]:  # "If yours [do] not"
        return True
    is_object = before[-1:] != [] and before[-1] in _OBJECT_PRONOUNS and (len(before) == 1 or before[-2] not in _OF)
    return is_object or (before[-2:] == [",", "you"] and context.after == [])


def _head(context: Context) -> str | None:
    """Return the noun of the subject, where that is one noun with a determiner, adjectives, and what is in or of it."""
    words = without_adverbs(context.clause_before)
    start = next((at + 1 for at in range(len(words) - 1, -1, -1) if words[at] in _OPENING), 0)
    is_dotted = "." in context.text_before.rstrip().rpartition(" ")[2]  # "the tests in run.sh"
    subject = None if is_dotted else subject_of(context, words[start:])
    if subject is None:
        return None
    head, is_long = subject.noun[-1], len(subject.noun) + bool(subject.determiner) > 1
    return None if is_long and head.title() in context.text_before else head


def subject_of(context: Context, words: Sequence[str]) -> Subject | None:
    """Return how the words before a verb make a subject of one noun, None where they may make another."""
    if not LISTS["unclear"].isdisjoint(words) or any(map(str.isdigit, words)):
        return None
    determiner = words[0] if words and (words[0] in word_sets.DETERMINERS or words[0] in _FEW) else ""
    phrase = words[bool(determiner) :]
    end = next((at for at, word in enumerate(phrase) if word in word_sets.PREPOSITIONS), len(phrase))
    noun, rest = phrase[:end], phrase[end:]
    if not noun or not word_sets.CLOSED_CLASS.isdisjoint(noun) or (not determiner and noun[0].endswith("ing")):
        return None
    is_plain = not any(is_verbal(context, word) for word in noun[1:])
    return Subject(determiner, noun, rest) if is_plain and _INNER.issuperset(_closed(rest)) else None


def _closed(words: Sequence[str]) -> frozenset[str]:
    return word_sets.CLOSED_CLASS.intersection(words)


def _is_activity(context: Context) -> bool:
    """Return whether what somebody does is the subject: "Changing its settings [are] useful"."""
    words = context.clause_before
    start = next((at + 1 for at in range(len(words) - 1, -1, -1) if words[at] in _BEFORE_A_SUBJECT), 0)
    is_done = len(words) > start + 2 and context.has_form(words[start], "ing")
    return is_done and words[start + 1] in word_sets.DETERMINERS and word_sets.CLAUSE_STARTS.isdisjoint(words[start:])


def _noun_right_before(context: Context) -> str | None:
    """Return the noun that with its determiner alone is the subject: "how quickly the cursor [blink]"."""
    words = context.before[-3:]
    if len(words) < 3 or words[1] not in word_sets.DETERMINERS or words[2] in word_sets.CLOSED_CLASS:
        return None
    begins = words[0] in _BEFORE_A_SUBJECT or (words[0].endswith("ly") and words[0] not in word_sets.NOT_ADVERBS)
    return words[2] if begins and not is_mark(words[2]) and words[2].title() not in context.text_before else None


def _noun_of_clause_before(context: Context) -> str | None:
    """Return the noun of a relative clause of one verb: "the first file that exists [are]"."""
    words = context.clause_before[-3:]
    is_clause = len(words) == 3 and words[1] in word_sets.RELATIVE_PRONOUNS and context.has_form(words[2], "third")
    return words[0] if is_clause and words[0] not in word_sets.CLOSED_CLASS else None


def is_verbal(context: Context, word: str) -> bool:
    return word.endswith(("ing", "ed", "ly")) or context.has_form(word, "participle")


def makes_singular(edit: Proposal) -> bool:
    return edit.reason is Reason.SVA_SG or edit.replacement[0].lower() in _ONE_BE


def makes_plural(edit: Proposal) -> bool:
    return edit.reason is Reason.SVA_PL or edit.replacement[0].lower() in _MANY_BE
