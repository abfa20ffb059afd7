"""Edits that the words around bear out, and such as only look like them: `[old>new REASON]` in a sentence."""

from __future__ import annotations

import re

import pytest

from api.grammar.ngrams import NGrams
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surroundings.context import Context
from api.grammar.surroundings.evidence import Evidence, with_log_odds
from api.grammar.surroundings.support import bears_out
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable

_EDIT = re.compile(r"\[(.*?)>(.*?) (\w+)\]")
WORDS = VerbWords(VerbTable.load())
EVIDENCE = Evidence(WORDS, NGrams.load())


def sentence_and_edit(text: str) -> tuple[str, Proposal]:
    found = _EDIT.search(text)
    assert found is not None
    old, new, reason = found.groups()
    edit = Proposal(
        0, (*old.split(),), (*new.split(),), Reason[reason], found.start(), found.start() + len(old), " ", 0.5
    )
    return text[: found.start()] + old + text[found.end() :], edit


def is_borne_out(text: str) -> bool:
    return bears_out(Context(*sentence_and_edit(text), WORDS))


def log_odds(text: str) -> float:
    return EVIDENCE.log_odds(*sentence_and_edit(text))


@pytest.mark.parametrize(
    "text",
    [
        "The new vessel [are>is SVA_BE] ready.",
        "However, the airstrip [were>was SVA_BE] bombed.",
        "The colour of this fish [are>is SVA_BE] grey.",
        "They say that the practice never [continue>continues SVA_SG] there.",
        "Parties [is>are SVA_BE] held here.",
        "These figures [revolves>revolve SVA_PL] slowly.",
        "So I [are>am SVA_BE] in limbo.",
        "And he [use>uses SVA_SG] two.",
        "But the pool [were>was SVA_BE] closed.",
        "When it [come>comes SVA_SG] to shoes, ask her.",
        "You name it, we [has>have SVA_PL] it.",
        "This [are>is SVA_BE] it.",
        "There [are>is SVA_BE] a picnic area.",
        "She knows a rapper who [use>uses SVA_SG] it.",
        "There are programs that [has>have SVA_PL] it.",
        "He wants to [discussed>discuss BASE_TO] it.",
        "Mini can't [talked>talk BASE_MODAL].",
        "I need [buy>to buy TO_INF] a car.",
        "It allows you [see>to see TO_INF] the files.",
        "It is widely [use>used PASSIVE_PART].",
        "She was [begining>beginning ING_SPELL] to see.",
        "He quickly [given>gave PAST_NOT_PART] it up.",
        "I have never [saw>seen PERF_PART] it.",
        "Since 1949, it [is>has been TENSE_PERF] ruled by them.",
        "He fled after [witness>witnessing ING_PREP] the crime.",
    ],
)
def test_what_the_words_around_show_to_be_wrong_is_borne_out(text: str) -> None:
    assert is_borne_out(text)


@pytest.mark.parametrize(
    "text",
    [
        "A number of them [are>is SVA_BE] ready.",
        "The crew [are>is SVA_BE] ready.",
        "The rich [have>has SVA_SG] more.",
        "The latter [have>has SVA_SG] more.",
        "If she [were>was SVA_BE] here, I would go.",
        "Rooms in the house [is>are SVA_BE] cold.",
        "Ann and he [are>is SVA_BE] here.",
        "The keys and the lock [are>is SVA_BE] new.",
        "Manchester United [are>is SVA_BE] at home.",
        "The man with glasses who [is>are SVA_PL] standing there.",
        "I met a man and a woman who [live>lives SVA_SG] next door.",
        "Some say what matters [is>are SVA_BE] the price.",
        "He did what he could [given>give BASE_MODAL] the time.",
        "The larvae [are>is SVA_BE] green.",
        "The wounded [were>was SVA_BE] there.",
        "There [are>is SVA_BE] an average of ten.",
        "Imagine she [were>was SVA_BE] here.",
        "I suggest that he [go>goes SVA_SG] there.",
        "Where does she [live>lives SVA_SG] now?",
        "Have they [gone>went PAST_NOT_PART] there?",
        "It is [open>opened PASSIVE_PART] to all.",
        "It applies to [changes>change BASE_TO] that you make.",
        "The house, empty since 1949, [is>has been TENSE_PERF] for sale.",
        "Emerald Systems [was>were SVA_BE] founded.",
        "The news [is>are SVA_BE] bad.",
        "Look [look>looks SVA_SG] here.",
        "He made it [work>works SVA_SG].",
        "There [are>is SVA_BE] a few left.",
        "There [is>are SVA_BE] ten.",
        "He is one of the painters who [lives>live SVA_PL] here.",
        "The painter who [live>lives SVA_SG] here.",
        "It is due to [falling>fall BASE_TO] prices.",
        "The can [rusted>rust BASE_MODAL].",
        "All he did was [ask>asked PASSIVE_PART].",
        "He [planed>planned REG_SPELL] the board.",
        "The people [given>gave PAST_NOT_PART] it.",
        "We have [reserve>reserved PERF_PART] banks.",
        "Since it rained, he [is>has been TENSE_PERF] here.",
        "We need [steel>to steel TO_INF] for it.",
        "It offers you [help>to help TO_INF].",
        "We need [water>to water TO_INF] every day.",
        "They asked her [age>to age TO_INF].",
        "The need [support>to support TO_INF] the school has is real.",
        "They forced it [open>to open TO_INF].",
        "I expect you [know>to know TO_INF] him.",
        "The able [lead>to lead TO_INF] the rest.",
        "It asks that she [be>is SVA_BE] promoted.",
        "Without [help>helping ING_PREP] the plan fails.",
        "The board [have>has SVA_SG] agreed.",
        "It is for [use>using ING_PREP] at home.",
    ],
)
def test_what_may_be_right_is_left_to_the_model(text: str) -> None:
    assert not is_borne_out(text)


def test_the_more_usual_words_speak_for_an_edit_and_the_less_usual_ones_against_it() -> None:
    assert log_odds("In most cases they [was>were SVA_PL] not found.") > 1
    assert log_odds("You may want to link to [files>file BASE_TO] that live elsewhere.") < -0.5

    assert log_odds("They are used to [indicate>indicating ING_TO] the time.") < -0.5
    assert log_odds("My friends are used to [wait>waiting ING_TO] for me.") >= 0


def test_the_number_of_names_speaks_for_an_edit_whatever_the_name() -> None:
    assert log_odds("Quayle [were>was SVA_BE] drawn into it.") > 0.4
    assert log_odds("Then Bianca [have>has SVA_SG] it.") > 0.4
    assert log_odds("Everton [were>was SVA_BE] beaten.") == 0, "a team is many to the British"
    assert log_odds("He [were>was SVA_BE] beaten.") > 1.5
    late = "It was late: {} never [gone>went PAST_NOT_PART] home."
    assert log_odds(late.format("Children")) == log_odds(late.format("children"))
    assert log_odds("THEN THEY [WAS>WERE SVA_BE] HAPPY.") == log_odds("then they [was>were SVA_BE] happy.")


@pytest.mark.parametrize(
    "text",
    ["I am used to [drive>driving ING_TO] on the left.", "The captains that like the engineers [is>are SVA_BE] tall."],
)
def test_usage_does_not_speak_against_an_edit_where_learners_err_as_usage_goes(text: str) -> None:
    assert log_odds(text) >= 0


def test_words_however_rare_say_no_more_than_a_bound() -> None:
    assert 2 < log_odds("The plan [wented>went PAST_IRREG] well.") == log_odds("It [goed>went PAST_IRREG] well.") < 3
    assert -3 < log_odds("It [went>goed PAST_IRREG] well.") < -2


def test_evidence_makes_a_doubtful_edit_likely_and_leaves_what_is_not_calibrated() -> None:
    confidences = [with_log_odds(*known) for known in ((0.2, 1.4), (0.5, -1.4), (0.98, 5.0), (1.0, -1.4))]

    assert confidences == [0.5, 0.2, 0.97, 1.0]
