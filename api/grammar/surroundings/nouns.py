"""Finds nouns, names and commands that look like other verbs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings.commands import BARE_SUBJECTS
from api.grammar.surroundings.context import Context, is_mark
from api.grammar.verb_words import parts_of, plain

_ARTICLES = frozenset("a an the my your his her its our their every no".split())
_NOUNS = frozenset(["can", "will", "might", "must", "may"])
_NAMES = frozenset(["Will", "May"])
# Endings of adjectives: "her [political] will". Few nouns have them, too: "the official will".
_ADJECTIVE = re.compile(r".{2,}(?:al|ic|ive|ous)")
_LIKE_ADJECTIVES = LISTS["like_adjectives"]
# "the [trash] can": what cans are of or for.
_CANS = LISTS["cans"]
_ADJECTIVES = LISTS["adjectives"]
_BEFORE_A_COMMAND = frozenset("please then also now just always never don't and or first next to not do".split())
# Heads of compounds whose first part is a verb: "write access", "sleep mode". They are poor objects of a verb.
_HEADS = LISTS["heads"]
# Nouns that are verbs with an object, too: "the dpkg [commands] on the disk".
_TAKE_AN_OBJECT = LISTS["take_an_object"]
# These take such objects, and stand before no noun: "has take time".
_WITH_OBJECTS = frozenset("take give make get find lose see know spend choose bring have do become keep teach".split())
_KEEP_DO = frozenset(["how", "where", "when", "why"])  # as none of them is a subject; what and who may be


def is_of_no_modal(context: Context) -> bool:
    """Return whether what looks like a modal at the edit is a noun or a name: "Will [came] home late"."""
    written, source = context.before_as_written, context.edit.source
    if source[0].lower() in _NOUNS:
        return _is_noun([*written, source[0]], len(written), is_last=True)
    if len(written) == 2 and written[0] in _NAMES and written[1].istitle():  # "Will Carter [play] chess."
        return "?" not in context.sentence[context.edit.end :]
    places = [at for at in range(max(0, len(written) - 4), len(written)) if written[at].lower() in _NOUNS]
    if written and plain(written[-1]) == "not":  # "his might not [flies]"
        return False
    return bool(places) and _is_noun(written, places[-1], is_last=places[-1] == len(written) - 1)


def _is_noun(written: Sequence[str], at: int, *, is_last: bool) -> bool:
    """Return whether the modal there is a noun or a name: "the old will", "the trash can", "said Will".

    `is_last` says that the verb comes right behind it. "Will came" has no other subject; "Will she came" has.
    """
    previous = written[at - 1].lower() if at else ""
    if written[at] in _NAMES:
        return is_last or (at > 0 and not is_mark(previous))
    before = written[at - 2].lower() if at > 1 else ""
    if previous in _ARTICLES or previous == "of" or previous.endswith(("'s", "\u2019s")):
        return True
    if previous in ("that", "this"):
        return before in word_sets.QUESTION_WORDS | word_sets.CLAUSE_STARTS | word_sets.PREPOSITIONS
    if written[at].lower() == "can" and previous in _CANS:
        return True
    is_adjective = previous in _ADJECTIVES or (_ADJECTIVE.fullmatch(previous) and previous not in _LIKE_ADJECTIVES)
    return bool(is_adjective) and (before in word_sets.DETERMINERS or before.endswith(("'s", "\u2019s")))


def is_behind_a_command(context: Context) -> bool:
    """Return whether the word before is a command: "Consider [is adding] a test", "Show [hid] files"."""
    words, verb = context.clause_before, context.edit.source[0].lower()
    if not words or not context.has_form(words[-1], "base") or words[-1] in BARE_SUBJECTS:
        return False
    is_object = verb.endswith("ing") or context.has_form(verb, "participle")
    return is_object and all(word in _BEFORE_A_COMMAND for word in words[:-1])


def is_part_of_a_noun(context: Context) -> bool:
    """Return whether the verb is the first part of a compound: "[written] access", "[shown] and hide buttons"."""
    source = context.edit.source[-1].lower()
    if not context.has_form(source, "base") or not context.words.lemmas_of(source).isdisjoint(_WITH_OBJECTS):
        return False
    words = context.clause_after
    while len(words) > 2 and words[0] in ("and", "or") and context.has_form(words[1], "base"):
        words = words[2:]
    is_bare = bool(words) and words[0] not in word_sets.CLOSED_CLASS
    return is_bare and (words[0] in _HEADS or words[1:2] != [] and words[1] in _HEADS)


def lacks_its_object(context: Context) -> bool:
    """Return whether a verb that takes an object has none, and so is a noun: "The count [attributes] of it"."""
    if context.words.lemmas_of(context.edit.source[-1].lower()).isdisjoint(_TAKE_AN_OBJECT):
        return False
    words, after = context.clause_before, context.after[:1]
    if words and words[-1] in word_sets.SUBJECT_PRONOUNS:
        return False
    is_part = 0 < len(words) <= 3 and word_sets.CLOSED_CLASS.isdisjoint(words)  # "Abstract [bases] class"
    is_open = not after or is_mark(after[0]) or after[0] in word_sets.PREPOSITIONS or after[0] in ("and", "or")
    return is_open or (is_part and after[0] not in word_sets.CLOSED_CLASS)


def is_part_of_what_one_has(context: Context) -> bool:
    """Return whether the verb is the first part of a compound behind 'have': "Do they have [to push] rights?"."""
    return context.before[-1:] in (["have"], ["has"], ["had"]) and is_part_of_a_noun(context)


def loses_do(context: Context) -> bool:
    """Return whether a direct question loses a 'do' that it needs: "How [does works] it?", "What [does means] it?"."""
    edit = context.edit
    if not _is_do(edit.source[0]) or any(map(_is_do, edit.replacement)) or len(context.before) != 1:
        return False
    return context.before[0] in _KEEP_DO or (context.before[0] == "what" and edit.source[-1].lower() == "means")


def _is_do(word: str) -> bool:
    return parts_of(word)[0] in word_sets.DO_PARTS
