"""Refuses edits that the words around them speak against: "I really are", "it remains high in 1973".

The guard judges which words an edit puts in the place of which. An edit that it allows may still be a mistake in its
sentence. Closed lists of words show which ones are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.verb_words import parts_of, plain
from api.grammar.verbs import MODALS

_NEAR = 120  # characters that are read on either side
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|\d+|[^\w\s]")
_PERSONS = {"i": "first", "he": "singular", "she": "singular", "we": "plural", "they": "plural"}
_NOT_BE = {
    "first": frozenset(["is", "are", "isn't", "aren't"]),
    "singular": frozenset(["am", "are", "aren't"]),
    "plural": frozenset(["am", "is", "was", "isn't", "wasn't"]),
}
_NOT_FOR = {Reason.SVA_SG: ("first", "plural"), Reason.SVA_PL: ("singular",)}
_JOINING = frozenset(["and", "or", "nor", "than", "as", "like", "&"])  # "Ann and I are", "people like he"
_PERIOD = "(?:night|week|month|year|summer|winter|spring|autumn)"
_FINISHED = re.compile(rf"\b(?:yesterday|ago|last {_PERIOD}|in (?:1[5-9]\d\d|20[01]\d))\b")
_COMING = re.compile(rf"\b(?:tomorrow|next {_PERIOD})\b")
_NEW_CLAUSE = (
    word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | word_sets.SUBJECT_PRONOUNS | word_sets.INVERTED_PARTS
) - {"than"} | {"to"}  # fmt: skip
_BUT_ONE = re.compile(r"(?<![Aa]ll )\bbut [A-Z][a-z]*[a-rt-z] $")  # "but Dubai [is] rich"; "all but Tom are" is right
_THAT_IS = re.compile(r"[,;(] that $")  # "the same borders, that [is], one town"
_SUBJECTS = word_sets.CERTAIN_SUBJECTS | {"that", "who", "which"}
_MODALS_WITH_S = frozenset(f"{modal}s" for modal in MODALS - {"will", "ought"})
_KEEP_DO = frozenset(["how", "where", "when", "why"])  # as none of them is a subject; what and who may be


def speak_against(sentence: str, edit: Proposal, is_past: Callable[[str], bool]) -> bool:
    """Return whether the words around the edit show that it would be a mistake.

    `is_past` says of a word whether it may be a past form or a participle.
    """
    before, after = sentence[max(0, edit.start - _NEAR) : edit.start], sentence[edit.end : edit.end + _NEAR].lower()
    if edit.reason is Reason.TENSE_FUT:
        return _starts_a_clause_before(_COMING, after)
    if edit.reason is Reason.SVA_BE:
        is_one = edit.replacement[0] in ("are", "were") and _BUT_ONE.search(before) is not None
        is_said_aside = _THAT_IS.search(before) is not None and after.startswith(",")
        return is_one or is_said_aside or _disagrees(before, edit)
    if edit.reason is Reason.TO_INF:
        return not _MODALS_WITH_S.isdisjoint(_TOKEN.findall(before.lower())[-1:])  # "He cans swim" needs no 'to'
    if edit.reason is Reason.DO_SUPPORT:
        return _loses_do(before, edit)
    if edit.reason in _NOT_FOR:
        is_present = not is_past(parts_of(edit.replacement[0])[0])
        return is_present and (_disagrees(before, edit) or _is_over(after, is_past))
    return False


def _disagrees(before: str, edit: Proposal) -> bool:
    """Return whether a pronoun right before the verb asks for another form: "they [walks]"."""
    words = _TOKEN.findall(before.lower())
    while words and words[-1] in word_sets.ADVERBS:
        words.pop()
    person = _PERSONS.get(words[-1]) if words else None
    if person is None or (len(words) > 1 and words[-2] in _JOINING):
        return False
    if edit.reason is Reason.SVA_BE:
        return edit.replacement[0].lower() in _NOT_BE[person]
    return person in _NOT_FOR[edit.reason]


def _loses_do(before: str, edit: Proposal) -> bool:
    """Return whether a direct question loses a 'do' that it needs: "How [does works] it?", "What [does means] it?"."""
    if not _is_do(edit.source[0]) or any(map(_is_do, edit.replacement)):
        return False
    asked = _TOKEN.findall(before.lower())
    return len(asked) == 1 and (asked[0] in _KEEP_DO or (asked[0] == "what" and plain(edit.source[-1]) == "means"))


def _is_do(word: str) -> bool:
    return parts_of(word)[0] in word_sets.DO_PARTS


def _is_over(after: str, is_past: Callable[[str], bool]) -> bool:
    """Return whether the time that follows in the same clause is over: "[remains] high in 1973"."""
    time = _FINISHED.search(after)
    if time is None:
        return False
    words = _TOKEN.findall(after[: time.start()])
    return words[-1:] not in (["from"], ["of"]) and not any(_may_be_a_verb(word, is_past) for word in words)


def _may_be_a_verb(word: str, is_past: Callable[[str], bool]) -> bool:
    return word.endswith(("ing", "ed")) or not _NEW_CLAUSE.isdisjoint(parts_of(word)) or is_past(word)


def _starts_a_clause_before(time: re.Pattern[str], after: str) -> bool:
    """Return whether the time is that of a later clause: "[will announce] that he fights next week"."""
    match = time.search(after)
    words = _TOKEN.findall(after[: match.start()]) if match else ()
    return any(parts_of(word)[0] in _SUBJECTS for word in words)
