"""Finds words that marks of emphasis set apart: words named for their form, and titles.

They stay as they are, and no verb becomes plural where one of them looks plural: "[docs](a.md) has the details".
"""

from __future__ import annotations

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surroundings.agreement import makes_plural
from api.grammar.unread import emphasized, end_of_label

_ITALICS = frozenset(["*", "_", "<i>", "<em>"])
_LINK = "["
_MOST_NAMED = 3  # words: "the form **goed**", "never **he have gone**"
_AGREEMENT = frozenset([Reason.SVA_PL, Reason.SVA_BE])
# "**They** is", "_My friends_ was"
_NO_TITLES = word_sets.SUBJECT_PRONOUNS | word_sets.DETERMINERS | frozenset("there people both many all others".split())
_OUTSIDE = " .!?:\u2026\"'()\u201c\u201d\u2018\u2019"
_ENDS = (".", "!", "?", ":", "\u2026")


def is_set_apart(sentence: str, plain: str, edit: Proposal) -> bool:
    """Return whether marks of the sentence, which `plain` lacks, say that the edit is not to be made."""
    start = end_of_label(plain)
    for span in emphasized(sentence):
        words = span["inside"].lower().split()
        is_italic = span["opens"] in _ITALICS
        is_first = not sentence[start : span.start()].strip(_OUTSIDE)
        if span.start() < edit.start and edit.end < span.end():
            if is_first and not sentence[span.end() :].strip(_OUTSIDE):
                return span["opens"] == _LINK and not span["inside"].endswith(
                    _ENDS
                )  # all of it: a title, or said aloud
            return is_italic or len(words) <= _MOST_NAMED
        is_subject = is_first and span.end() <= edit.start and not sentence[span.end() : edit.start].strip()
        if is_subject and (is_italic or len(words) == 1) and edit.reason in _AGREEMENT and makes_plural(edit):
            return words[0] not in _NO_TITLES
    return False
