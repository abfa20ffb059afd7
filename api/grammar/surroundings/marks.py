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
_MOST_NAMED = 3  # words: "the form **goed**", "never **he have gone**"
_AGREEMENT = frozenset([Reason.SVA_PL, Reason.SVA_BE])
_NO_TITLES = word_sets.SUBJECT_PRONOUNS | {"these", "those", "people", "both", "many", "some", "all", "others"}
_ENDS = (".", "!", "?", ":", "\u2026")


def is_set_apart(sentence: str, edit: Proposal) -> bool:
    """Return whether marks of the sentence, as it was sent, say that the edit is not to be made."""
    start = end_of_label(sentence)
    for span in emphasized(sentence):
        is_short = span["opens"] in _ITALICS or len(span["inside"].split()) <= _MOST_NAMED
        is_first = not sentence[start : span.start()].strip(" !")
        if span.start() < edit.start and edit.end < span.end():
            is_all = is_first and not sentence[span.end() :].strip()
            if (is_all and not span["inside"].endswith(_ENDS)) or (is_short and not is_all):
                return True
        is_subject = is_first and not sentence[span.end() : edit.start].strip() and span.end() <= edit.start
        if is_subject and is_short and edit.reason in _AGREEMENT and makes_plural(edit):
            return span["inside"].lower() not in _NO_TITLES
    return False
