"""Finds times that belong to a noun, a preposition or another verb, and so say nothing of the tense.

"He bought food for next week" is no future, "They have paid for last month" no past, and "since I like dogs" no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings.context import Context, is_mark, is_plural
from api.grammar.verb_words import parts_of

_PERIODS = LISTS["periods"]
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
# With these a time is a complement. Not 'in', 'on', 'at', 'by', 'during': "on next Monday" is how learners say when.
_TAKE_A_TIME = frozenset("for about of from to until till into than like with over regarding against".split())
_EVENTS = LISTS["events"]
_OPEN_A_TIME = frozenset(["the", "this", "early", "late"])  # "for the next year"
_SUBJECTS = word_sets.CERTAIN_SUBJECTS | {"that", "who", "which"}
# "went to see her next week": the purpose of a movement has its time.
_MOVEMENTS = frozenset("go come travel drive fly return walk run ride move meet stop sail leave get".split())
# Verbs whose object may be a time: "Nobody has mentioned yesterday".
_OF_A_TIME = LISTS["of_a_time"]
_PAST_EVIDENCE = frozenset(["when", "once", "earlier"])
# "letters from two years ago". Not 'about': "about an hour ago" is when something happens.
_TAKE_AN_AGO = frozenset("from than like until till".split())
_OF_AN_AGO = word_sets.COUNTS | frozenset("a an one couple hundred thousand some only just long".split())
_STAGES_OF_LIFE = frozenset("child kid boy girl baby teenager teen young little small born old student".split())
_PRESENT = frozenset(["is", "are", "am", "do", "does", "can", "will", "must", "may", "has", "have"])
_LONG_AGO = frozenset(["ago", "yesterday", "last"])
DIGITS_OF_A_YEAR = 4
_BEFORE_A_PARTICIPLE = word_sets.BE_PARTS | word_sets.HAVE_PARTS | word_sets.PREPOSITIONS
_NO_VERB_BEHIND = word_sets.DETERMINERS | word_sets.PREPOSITIONS | {"last", "first", "and", "or", "to", "old", "new"}
_PERSONS = word_sets.SUBJECT_PRONOUNS | word_sets.INDEFINITE_PRONOUNS | {"there"}

_Time = tuple[int, int]  # the places of its first word and behind its last


def is_no_future(context: Context) -> bool:
    """Return whether every time to come is of a noun or another verb, or a time that is over stands in the clause.

    "We moved the test to next Friday", "I hoped to see you tomorrow", "Bookings for next summer opened last week".
    """
    left, right = context.clause_before, context.after
    if any(_pasts(left)) or any(_pasts(context.clause_after)):
        return True
    coming = [_is_bound(left, time) for time in _times(left, "tomorrow", "next")]
    times = _times(right, "tomorrow", "next")
    coming += [_is_bound(right, time) or _is_of_another_verb(context, time) for time in times]
    return bool(coming) and all(coming)


def is_no_past(context: Context) -> bool:
    """Return whether every time that is over is a complement: "photos from last summer", "mentioned yesterday"."""
    if not context.holds("ago", "last", "yesterday"):
        return False
    left, right = context.clause_before, context.clause_after
    if _shows_a_past(left) or _shows_a_past(right):
        return False
    over = [*_agos(left), *_agos(right)]
    over += [_is_bound(left, time) for time in _pasts(left)]
    over += [_is_bound(right, time) or (time[0] == 0 and _takes_a_time(context)) for time in _pasts(right)]
    return bool(over) and all(over)


def is_without_a_past(context: Context) -> bool:
    """Return whether nothing near is past, so that no past form is due: "When it ends, the user [had] left"."""
    if not context.words.may_be_past(parts_of(context.edit.replacement[0])[0]):
        return False
    words = ["", *context.before, context.edit.source[-1].lower(), *context.after]
    if any(word in _LONG_AGO or (word.isdigit() and len(word) == DIGITS_OF_A_YEAR) for word in words):
        return False
    plain = [word for word in words if word not in word_sets.ADVERBS and not word.endswith("ly")]
    return not any(_is_past(context, *pair) for pair in pairwise(plain))


def _is_past(context: Context, previous: str, word: str) -> bool:
    """Return whether the word may be a past form, and no participle behind an auxiliary or a preposition."""
    if not word or parts_of(previous)[0] in _BEFORE_A_PARTICIPLE:
        return False
    return word.endswith("ed") or any(context.has_form(part, "past") for part in parts_of(word))  # "he camed"


def is_because(context: Context) -> bool:
    """Return whether the sentence says 'since' for 'because', so that no perfect is due: "since I like dogs"."""
    if not context.holds("since"):
        return False
    source = [part.lower() for part in context.edit.source]
    if "since" in context.after:
        clause = context.after[context.after.index("since") + 1 :]
    elif "since" in context.before:
        clause = [*context.before[len(context.before) - context.before[::-1].index("since") :], *source, *context.after]
    else:
        return False
    clause = clause[: next((at for at, pair in enumerate(pairwise([*clause, ""])) if _ends(*pair)), None)]
    if clause[:1] in (["then"], ["may"], ["last"], ["yesterday"]):  # "since then he has", "since May"
        return False
    return _STAGES_OF_LIFE.isdisjoint(clause[2:]) and _is_present(context, clause)


def _ends(word: str, following: str) -> bool:
    """Return whether a mark or a joined clause ends the clause here: "since Friday, ...", "since Friday and he ..."."""
    return is_mark(word) or (word in ("and", "but", "or", "so") and following in word_sets.SUBJECT_PRONOUNS)


def _times(words: Sequence[str], day: str, first: str) -> Iterator[_Time]:
    """Yield the places of "tomorrow" and "next week", or of "yesterday" and "last week", possessives included."""
    owner = f"{day}'s"
    for at, word in enumerate(words):
        if word in (day, owner):
            has_part = at + 1 < len(words) and words[at + 1] in ("morning", "afternoon", "evening", "night")
            yield at, at + 1 + has_part
        elif word == first and at + 1 < len(words) and words[at + 1].removesuffix("'s") in _PERIODS:
            yield at, at + 2


def _pasts(words: Sequence[str]) -> Iterator[_Time]:
    return _times(words, "yesterday", "last")


def _agos(words: Sequence[str]) -> Iterator[bool]:
    """Yield of each "ago" whether it is a complement: "letters from two years ago"."""
    for at in [at for at, word in enumerate(words) if at and word == "ago"]:
        start = at - 1  # of "years ago"
        while start and (words[start - 1] in _OF_AN_AGO or words[start - 1].isdigit()):
            start -= 1
        is_quantity = words[max(0, start - 2) : start] in (["more", "than"], ["less", "than"])
        yield start > 0 and words[start - 1] in _TAKE_AN_AGO and not is_quantity


def _is_bound(words: Sequence[str], time: _Time) -> bool:
    """Return whether the time is a complement or an owner: "for next week", "about last night's game"."""
    start, end = time
    if words[end - 1].endswith("'s"):
        return True
    if start > 2 and words[start - 1] in _EVENTS and words[start - 3] in _TAKE_A_TIME - {"to", "with", "from"}:
        return True  # "a dress for the wedding next week"
    while start and words[start - 1] in _OPEN_A_TIME:
        start -= 1
    return start > 0 and words[start - 1] in _TAKE_A_TIME


def _is_of_another_verb(context: Context, time: _Time) -> bool:
    """Return whether a clause or a verb between the edit and the time has the time.

    "[will announce] that he fights next week", "[will hope] to see you tomorrow", "[will talk] about leaving tomorrow".
    """
    between = context.after[: time[0]]
    if any(parts_of(word)[0] in _SUBJECTS for word in between):
        return True
    is_moving = not _lemmas(context).isdisjoint(_MOVEMENTS)
    for at, word in enumerate(between[:-1]):
        following = between[at + 1]
        if word == "to" and not is_moving and context.has_form(following, "base"):
            return True
        if word in word_sets.PREPOSITIONS and following.endswith("ing") and context.has_form(following, "ing"):
            return True
    return False


def _lemmas(context: Context) -> frozenset[str]:
    return frozenset().union(*(context.words.lemmas_of(parts_of(word)[0]) for word in context.edit.source))


def _takes_a_time(context: Context) -> bool:
    return not _lemmas(context).isdisjoint(_OF_A_TIME)


def _shows_a_past(words: Sequence[str]) -> bool:
    """Return whether something else speaks of a time that is over: "when", "in 1998", "on Monday"."""
    return not _PAST_EVIDENCE.isdisjoint(words) or any(
        word == "in" and following.isdigit() or word == "on" and following in _WEEKDAYS
        for word, following in zip(words, words[1:], strict=False)
    )


def _is_present(context: Context, clause: Sequence[str]) -> bool:
    """Return whether the clause has a verb in the present and none in the past: "since the road is icy"."""
    is_present = False
    for at, word in enumerate(clause):
        first, *rest = parts_of(word)
        previous = clause[at - 1] if at else ""
        forms = context.words.forms_of(first)
        is_participle = previous in ("is", "are", "am", "has", "have", "not") or previous.endswith(("'s", "'re", "n't"))
        if "past" in forms and "base" not in forms and not is_participle:
            return False
        if first in ("has", "have") and at + 1 < len(clause) and context.has_form(clause[at + 1], "participle"):
            continue  # "since I have been here"
        is_present |= first in _PRESENT or (bool(rest) and first in _PERSONS and rest[-1] in ("'s", "'re", "'m"))
        if at and previous not in _NO_VERB_BEHIND and word != "times":
            is_plural_subject = previous in ("i", "you", "we", "they") or is_plural(previous)
            is_present |= "third" in forms or (is_plural_subject and "base" in forms)
    return is_present
