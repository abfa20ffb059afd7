"""Finds verbs without a subject of their own, as in commands, logs and lines of documents.

"In the list, [selects] a row", "BUILD: [fixes] a warning", "Disable the user [lists]".
"""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar import nouns, word_sets
from api.grammar.lists import LISTS
from api.grammar.reasons import Reason
from api.grammar.surroundings.context import Context, is_mark, plain_tokens
from api.grammar.unread import end_of_label
from api.grammar.verb_words import parts_of

_BEHIND_AN_OBJECT = word_sets.PREPOSITIONS | word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | {"to", "or", "per"}
# Nouns and names that look like base forms, and stand without an article: "Water boiling", "Bill sleeping".
BARE_SUBJECTS = LISTS["bare_subjects"]
_OBJECTS = (word_sets.DETERMINERS - {"that"}) | word_sets.AMOUNTS | word_sets.OBJECT_PRONOUNS | {"or"}
_INTRODUCTIONS = word_sets.PREPOSITIONS | word_sets.CLAUSE_STARTS | {"to", "given"}
_BEFORE_A_COMMAND = word_sets.ADVERBS | frozenset(
    "please kinda sorta gotta gonna wanna otherwise instead first".split()
)
_SUBJECTS = word_sets.CERTAIN_SUBJECTS | word_sets.INDEFINITE_PRONOUNS
_MARKS = frozenset(",;:.!?\u2014\u2013")
_JOINING = frozenset(["and", "or", "then", ","])


def has_no_subject(context: Context) -> bool:
    """Return whether the line begins with its verb, and the edit sees a plural there: "Shows [match] in bold"."""
    start = end_of_label(context.sentence)  # "- Parses the input"
    words = plain_tokens(context.sentence[start : context.edit.start]) if start else context.before
    if not words or not context.has_form(words[0], "third") or not _MARKS.isdisjoint(words[:-1]):
        return False
    if len(words) == 1:
        following = context.after[:1]
        is_object = not following or is_mark(following[0]) or following[0] in _BEHIND_AN_OBJECT
        return (
            _is_of_lines(context, words[0]) and is_object and context.edit.source[0].lower() not in LISTS["of_events"]
        )
    is_joined = words[-1] in _JOINING  # "Parses the input and [return] a tree"
    return is_joined and (_is_of_lines(context, words[0]) or words[1] in word_sets.DETERMINERS)


def is_a_command(context: Context) -> bool:
    """Return whether no subject stands before the verb: "[Selects] a row", "In the list, [selects] a row"."""
    words = context.before
    while words and _is_adverb(words[-1]):
        words = words[:-1]
    if _asks(context, words[-1:]):
        return False
    if not words or (is_mark(words[-1]) and words[-1] not in "'\",)\u2019\u201d"):
        return True
    if words[0] == "(" and words[-1] == ")" and words.count(")") == 1:  # "(Ann) Also [adds] a test"
        return True
    sentence = context.sentence.strip()
    if len(words) == 1 and sentence[0].islower() and sentence[-1] not in _MARKS:  # "pip [installs] it"
        return words[0] not in word_sets.CLOSED_CLASS and _is_of_lines(context, context.edit.source[0].lower())
    clause = _last_clause(words[: -1 - (words[-2:-1] == [","])])
    if words[-1] in _JOINING and clause and _is_command_form(context, clause[0]):
        return _SUBJECTS.isdisjoint(clause)  # "Open the box and [takes] one"
    return words[-1] == "," and words.count(",") == 1 and _introduces(context, words[:-1])


def is_of_an_object(context: Context) -> bool:
    """Return whether a command takes the noun before as its object: "Disable the user [lists]", "Add [excludes]"."""
    words = context.clause_before
    if not words or words[0] in BARE_SUBJECTS or not _is_of_lines(context, words[0]):
        return False
    if len(words) == 1:
        is_base = "third" not in context.words.forms_of(words[0])
        return not nouns.is_known_plural(words[0]) if context.edit.reason is Reason.MISSING_BE else is_base
    return words[1] in _OBJECTS and not any(word in _SUBJECTS or word in word_sets.CLAUSE_STARTS for word in words)


def _is_adverb(word: str) -> bool:
    return word in _BEFORE_A_COMMAND or (word.endswith("ly") and word not in word_sets.NOT_ADVERBS)


def _asks(context: Context, mark: Sequence[str]) -> bool:
    """Return whether the word is an auxiliary before its subject: "Why, [do] she know?"; not in "Remedy: [do] this"."""
    if "?" in context.sentence and not word_sets.SUBJECT_PRONOUNS.isdisjoint(context.after[:1]):
        return True
    is_auxiliary = parts_of(context.edit.source[0])[0] in ("do", "have")
    if mark == [":"] and "?" not in context.sentence:
        return False
    return is_auxiliary and context.after[:1] != [] and context.after[0] != "not"


def _last_clause(words: Sequence[str]) -> Sequence[str]:
    start = next((at + 1 for at in range(len(words) - 1, -1, -1) if is_mark(words[at])), 0)
    return words[start:]


def _introduces(context: Context, words: Sequence[str]) -> bool:
    """Return whether a command may follow the comma: behind "In the list", "When it is done", "Using the keyboard"."""
    if not words:  # ", walk home."
        return False
    if words[0] in word_sets.PREPOSITIONS:
        return _SUBJECTS.isdisjoint(words)
    return words[0] in _INTRODUCTIONS or context.has_form(words[0], "ing") or _is_command_form(context, words[0])


def _is_command_form(context: Context, word: str) -> bool:
    return word not in BARE_SUBJECTS and word not in word_sets.CLOSED_CLASS and context.has_form(word, "base")


def _is_of_lines(context: Context, word: str) -> bool:
    return not context.words.lemmas_of(word).isdisjoint(LISTS["of_lines"])
