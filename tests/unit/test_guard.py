"""What may stand for what: verbs for their own forms, and nothing else."""

from __future__ import annotations

import pytest

from api.grammar.guard import Guard
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords, parts_of
from api.grammar.verbs import VerbTable

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
beeing > being ING_SPELL
of > have MODAL_OF
arrived > will arrive TENSE_FUT
works > has worked TENSE_PERF
has left > left PAST_NOT_PERF
will call > calls NO_WILL
is owning > owns STATIVE
left > had left PAST_PERF
am > were WISH_PAST
doesn't goes > doesn't go BASE_DO
don't > doesn't SVA_SG
knows > know BASE_DO
you > do you DO_SUPPORT
the > does the DO_SUPPORT
you wanted > did you want DO_SUPPORT
you did > did you do DO_SUPPORT
not like > does not like DO_SUPPORT
not like > doesn\u2019t like DO_SUPPORT
no like > doesn't like DO_SUPPORT
never > did never DO_SUPPORT
am not > don't DO_SUPPORT
is not > does not DO_SUPPORT
I'm not > I don't DO_SUPPORT
isn't > doesn't DO_SUPPORT
isn't like > doesn't like DO_SUPPORT
Are you > Do you DO_SUPPORT
Is Tom > Does Tom DO_SUPPORT
speak you > do you speak DO_SUPPORT
likes he > does he like DO_SUPPORT
you didn't > didn't you QUESTION_ORDER
he is > is he QUESTION_ORDER
is he > he is QUESTION_ORDER
she's > is she QUESTION_ORDER
she\u2019s > has she QUESTION_ORDER
they'd > would they QUESTION_ORDER
is she > she's QUESTION_ORDER
Tom can > can Tom QUESTION_ORDER
would have > had WISH_PAST
would've > had WISH_PAST
wouldn't have > hadn't WISH_PAST
didn't > hadn't WISH_PAST
am > were WISH_PAST
am living > have lived TENSE_PERF
am living > have been living TENSE_PERF
doesn't > hasn't TENSE_PERF
is seeing > has seen TENSE_PERF
Do > Have TENSE_PERF
is working > has worked TENSE_PERF
I'm agree > I agree EXTRA_BE
I'm not > I don't EXTRA_BE
Are > Do EXTRA_BE
He's work > He's working BE_ING
Do > Are BE_ING
she'll coming > she'll come BASE_MODAL
won't > doesn't NO_WILL
he'll > he's NO_WILL
Are you > Do you STATIVE
isn't knowing > doesn't know STATIVE
knowing > know STATIVE
is playing > plays HABIT
Is he > Does he HABIT
have you > did you PAST_NOT_PERF
hasn't > didn't PAST_NOT_PERF
arrived > arrive PAST_NOT_PERF
has been > was PAST_NOT_PERF
have had > had PAST_NOT_PERF
have read > read PAST_NOT_PERF
have only > only PAST_NOT_PERF
Do > Did TENSE_PAST
don't come > won't come TENSE_FUT
didn't > hadn't PAST_PERF
"""
REFUSED = """
have writed > written PAST_NOT_PERF
have swimmed > swimmed PAST_NOT_PERF
has been > been PAST_NOT_PERF
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
watch play > play watch DO_SUPPORT
go to > do to go DO_SUPPORT
speak the > do the speak DO_SUPPORT
can you > do you can DO_SUPPORT
not like > doesn't not like DO_SUPPORT
not like > does like DO_SUPPORT
like > doesn't like DO_SUPPORT
no like > does like DO_SUPPORT
no like > doesn't like SVA_SG
you > do you SVA_PL
you > do TENSE_PAST
like > do like TENSE_PAST
like > do love DO_SUPPORT
you > we do DO_SUPPORT
do you > you did QUESTION_ORDER
he is > is she QUESTION_ORDER
he is > is QUESTION_ORDER
he is > is he not QUESTION_ORDER
he is > was he QUESTION_ORDER
he is > he is QUESTION_ORDER
old house > house old QUESTION_ORDER
you didn't > did you QUESTION_ORDER
has he > is he QUESTION_ORDER
he is > is he SVA_BE
Tom Ann > Ann Tom SVA_SG
not never > never not SVA_SG
won't > does NO_WILL
can > does NO_WILL
must > did TENSE_PAST
has > did SVA_SG
is > does SVA_SG
house > do TENSE_PAST
went to > went SVA_SG
went > went to SVA_SG
never like > don't like DO_SUPPORT
his > her SVA_SG
can run > runs SVA_SG
must go > goes TENSE_SEQ
should go > go BARE_INF
a > the SVA_SG
in > on SVA_SG
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
