"""Weighs what the words around say of an edit, so that the model need be less sure of it, or surer.

A rule may bear it out, and n-grams say which of the two texts is more usual.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.ngrams import END, START, NGrams, counted
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surface import is_in_capitals
from api.grammar.surroundings.agreement import makes_singular
from api.grammar.surroundings.context import Context
from api.grammar.surroundings.prepositions import is_person
from api.grammar.surroundings.support import bears_out
from api.grammar.verb_words import VerbWords, parts_of

# What it adds to the log-odds of an edit: 1.8 in 218 edits of natural text, of which it bears 27 out.
LOG_ODDS = 1.4
_WEIGHT_OF_USAGE = 0.28  # log-odds for a nat, by a logistic regression
_MOST_USAGE = 8.0  # nats; words that are rare give more, and mean no more
# Usage never speaks against these: words further off decide, or learners err as usage goes ("I look forward to [see]").
_NEVER_AGAINST = frozenset(
    [
        Reason.SVA_BE, Reason.TENSE_PERF, Reason.TENSE_FUT, Reason.TENSE_PAST, Reason.PAST_PERF, Reason.ING_TO,
        Reason.ING_PREP, Reason.QUESTION_ORDER, Reason.DO_SUPPORT,
    ]
)  # fmt: skip
_MOST_CONFIDENCE = 0.97  # picky asks for more at strictness 20
_USED_TO_IT = frozenset("i we you he she who".split())


class Evidence:
    """Weighs what the words around an edit say for it or against it. It keeps no state."""

    def __init__(self, words: VerbWords, ngrams: NGrams) -> None:
        self._words = words
        self._ngrams = ngrams

    def log_odds(self, sentence: str, edit: Proposal) -> float:
        """Return what to add to the log-odds of the edit."""
        context = Context(sentence, edit, self._words)
        borne_out = LOG_ODDS if bears_out(context) else 0.0
        least = 0.0 if edit.reason in _NEVER_AGAINST and not _is_of_a_use(context) else -_MOST_USAGE
        most = 0.0 if _may_be_a_team(context) else _MOST_USAGE
        return borne_out + _WEIGHT_OF_USAGE * max(least, min(self._usage(context), most))

    def _usage(self, context: Context) -> float:
        """Return how much more usual the new words are here than the old ones: a log-ratio, in nats."""
        before, after = context.before_as_written, context.after_as_written
        if is_in_capitals(context.sentence):  # in which nothing tells a name
            before, after = context.before, context.after
        before = [START, START, *self._counted(before[-3:], is_start=len(before) < 4)][-2:]
        after = [*self._counted(after[:2]), END][:2]
        new, old = (
            self._ngrams.log_score([*before, *self._counted(map(str.lower, words)), *after], len(before))
            for words in (context.edit.replacement, context.edit.source)
        )
        return new - old

    def _counted(self, words: Iterable[str], *, is_start: bool = False) -> list[str]:
        return counted(words, is_start=is_start, is_known=lambda word: self._ngrams.log_count((word,)) is not None)


def _is_of_a_use(context: Context) -> bool:
    """Return whether something may be used for it: no pronoun and no noun for a person shows who is used to it."""
    words = context.clause_before
    parts = [part for word in words for part in parts_of(word)]
    return words[-2:] == ["used", "to"] and _USED_TO_IT.isdisjoint(parts) and not any(map(is_person, parts))


def _may_be_a_team(context: Context) -> bool:
    """Return whether a name may be that of a team or a band, which are many to the British: "Everton [was] beaten"."""
    *_, noun = ["", *context.before_as_written]
    is_behind_a_name = noun[:1].isupper() and noun.lower() not in word_sets.CLOSED_CLASS  # not "He were beaten"
    is_one = context.edit.reason in (Reason.SVA_BE, Reason.SVA_SG) and makes_singular(context.edit)
    return is_behind_a_name and is_one and not LISTS["of_teams"].isdisjoint(context.after[:10])


def with_log_odds(confidence: float, added: float) -> float:
    """Return the confidence with log-odds added to it. Without calibration it stays 1."""
    if confidence == 1.0:
        return confidence
    return min(round(confidence / (confidence + (1 - confidence) * exp(-added)), 2), _MOST_CONFIDENCE)
