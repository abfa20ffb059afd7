"""What may stand for what: verbs for their own forms, and nothing else."""

from __future__ import annotations

import pytest

from api.guard import Guard
from api.reasons import Reason
from api.verb_words import VerbWords, parts_of
from api.verbs import VerbTable

GUARD = Guard(VerbWords(VerbTable.load()))

ALLOWED = """
goed > went PAST_IRREG
GOED > Went PAST_IRREG
wents > went PAST_IRREG
don't > doesn't SVA_SG
doesn\u2019t > don't SVA_PL
isn't > aren't SVA_BE
ain't > isn't SVA_BE
haven't > hasn't SVA_SG
won't > wouldn't TENSE_SEQ
can > could TENSE_SEQ
singing > are singing MISSING_BE
happy > is happy MISSING_BE
is believes > believes EXTRA_BE
I'm agree > I agree EXTRA_BE
win > to win TO_INF
to rest > rest BARE_INF
to drive > driving ING_VERB
must to leave > must leave BASE_MODAL
planed > planned REG_SPELL
carryed > carried REG_SPELL
stopd > stopped REG_SPELL
writeing > writing ING_SPELL
dieing > dying ING_SPELL
studing > studying ING_SPELL
carrys > carries S_SPELL
haves > has S_SPELL
gos > goes S_SPELL
of > have MODAL_OF
arrived > will arrive TENSE_FUT
works > has worked TENSE_PERF
has left > left PAST_NOT_PERF
will call > calls NO_WILL
is owning > owns STATIVE
left > had left PAST_PERF
am > were WISH_PAST
doesn't goes > doesn't go BASE_DO
"""
REFUSED = """
go > walk PAST_IRREG
goed > wented PAST_IRREG
school > schoolx SVA_SG
quickly > quick SVA_SG
good > are SVA_BE
is > has SVA_BE
can > must TENSE_SEQ
to > is MISSING_BE
don't > do SVA_SG
go > doesn't go SVA_SG
is > is not SVA_BE
of > have PERF_PART
Tom walks > walks EXTRA_BE
very good > good EXTRA_BE
walk > walk quickly SVA_SG
planed > planed\u0301 REG_SPELL
go > \U0001f600 PAST_IRREG
"""


def cases(text: str) -> list[tuple[list[str], list[str], Reason]]:
    lines = [line.rpartition(" ") for line in text.strip().splitlines()]
    pairs = [(change.split(" > "), Reason[reason]) for change, _, reason in lines]
    return [(old.split(), new.split(), reason) for (old, new), reason in pairs]


@pytest.mark.parametrize(("old", "new", "reason"), cases(ALLOWED))
def test_a_form_of_the_same_verb_may_replace_it(old: list[str], new: list[str], reason: Reason) -> None:
    assert GUARD.allows(old, new, reason)


@pytest.mark.parametrize(("old", "new", "reason"), cases(REFUSED))
def test_other_words_negations_and_unknown_forms_are_refused(old: list[str], new: list[str], reason: Reason) -> None:
    assert not GUARD.allows(old, new, reason)


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
