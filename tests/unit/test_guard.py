"""What may stand for what: verbs for their own forms, and nothing else."""

from __future__ import annotations

import pytest

from api.grammar.guard import Guard
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords, parts_of
from api.grammar.verbs import VerbTable
from tests.tables import table

GUARD = Guard(VerbWords(VerbTable.load()))


def cases(name: str) -> list[tuple[list[str], list[str], Reason]]:
    return [(old.split(), new.split(), Reason[reason]) for old, new, reason in table(name)]


@pytest.mark.parametrize(("old", "new", "reason"), cases("guard_allowed"))
def test_a_form_of_the_same_verb_may_replace_it(old: list[str], new: list[str], reason: Reason) -> None:
    assert GUARD.allows(old, new, reason)


@pytest.mark.parametrize(("old", "new", "reason"), cases("guard_refused"))
def test_other_words_negations_and_unknown_forms_are_refused(old: list[str], new: list[str], reason: Reason) -> None:
    assert not GUARD.allows(old, new, reason)


PROMISES = [(Reason[reason], *map(str.split, rest)) for reason, *rest in table("promises")]


@pytest.mark.parametrize(("reason", "old", "kept", "broken"), PROMISES)
def test_an_edit_brings_the_form_that_its_reason_promises(
    reason: Reason, old: list[str], kept: list[str], broken: list[str]
) -> None:
    assert GUARD.allows(old, kept, reason)
    assert not GUARD.allows(old, broken, reason)


def test_the_form_is_asked_of_every_reason() -> None:
    assert [reason for reason, *_ in PROMISES] == list(Reason)


@pytest.mark.parametrize(
    ("previous", "word", "reason"),
    [
        ("the", "walk", Reason.SVA_SG), ("My", "drive", Reason.TENSE_PAST), ("a", "singing", Reason.MISSING_BE),
        ("met", "Rose", Reason.SVA_SG), ("ask", "Will", Reason.TENSE_SEQ),
    ],
)  # fmt: skip
def test_a_noun_or_a_name_is_no_first_verb_of_a_clause(previous: str, word: str, reason: Reason) -> None:
    assert GUARD.is_noun(word, previous, reason)


@pytest.mark.parametrize(
    ("previous", "word", "reason"),
    [
        (None, "Walk", Reason.SVA_SG), ("dog", "walk", Reason.SVA_SG), ("He", "Goed", Reason.PAST_IRREG),
        ("HE", "WALK", Reason.SVA_SG), ("he", "Is", Reason.SVA_BE), ("why", "Do", Reason.SVA_SG),
        ("the", "breaked", Reason.PART_IRREG), ("its", "rain", Reason.BE_ING), ("where", "Mark", Reason.MISSING_BE),
    ],
)  # fmt: skip
def test_other_words_may_be_verbs_here(previous: str | None, word: str, reason: Reason) -> None:
    assert not GUARD.is_noun(word, previous, reason)


def test_an_edit_that_writes_nothing_is_refused() -> None:
    assert not GUARD.allows(["go"], [], Reason.PAST_IRREG)


def test_every_over_regularised_form_may_become_each_right_form_of_its_verb() -> None:
    table = VerbTable.load()
    for verb in (verb for verb in table.verbs.values() if verb.is_irregular):
        for wrong in table.over_regularised(verb.lemma):
            if verb.lemma in table.lemmas_of(wrong):
                assert GUARD.allows([wrong], verb.pasts[0].split(), Reason.PAST_IRREG), (wrong, verb.pasts[0])


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("Don\u2019t", ("do", "n't")), ("won't", ("wo", "n't")), ("they're", ("they", "'re")),
        ("CANNOT", ("can", "not")),
        ("n't", ("n't",)), ("'s", ("'s",)), ("went", ("went",)),
    ],
)  # fmt: skip
def test_contractions_fall_into_their_parts(word: str, parts: tuple[str, ...]) -> None:
    assert parts_of(word) == parts
