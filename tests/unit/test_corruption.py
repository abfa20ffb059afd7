"""The training data's labels: each reason breaks a sentence as learners do, and its edit mends it."""

from __future__ import annotations

import random
from functools import cache
from itertools import islice

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from ops.training.text.corpus import TaggedSentence, TaggedToken
from ops.training.text.edits import apply_edits
from ops.training.text.maker import Example, ExampleMaker
from tests.tables import table
from tests.unit.test_pipeline import conclude

# One made-up sentence per reason: tagged ("+" joins the tokens of one word), broken, and the edit that mends it.
CASES = [
    ("PAST_IRREG", "He/PRP went/VBD to/TO school/NN", "He goed to school.", (1, 1, "went")),
    ("PART_IRREG", "She/PRP has/VBZ taken/VBN it/PRP", "She has taked it.", (2, 1, "taken")),
    ("PAST_NOT_PART", "We/PRP saw/VBD a/DT bird/NN", "We seen a bird.", (1, 1, "saw")),
    ("REG_SPELL", "They/PRP planned/VBD a/DT trip/NN", "They planed a trip.", (1, 1, "planned")),
    ("ING_SPELL", "She/PRP is/VBZ writing/VBG a/DT book/NN", "She is writeing a book.", (2, 1, "writing")),
    ("S_SPELL", "He/PRP carries/VBZ a/DT bag/NN", "He carrys a bag.", (1, 1, "carries")),
    ("SVA_SG", "Ann/NNP walks/VBZ home/NN", "Ann walk home.", (1, 1, "walks")),
    ("SVA_PL", "We/PRP walk/VBP home/NN", "We walks home.", (1, 1, "walk")),
    ("SVA_BE", "You/PRP are/VBP late/JJ", "You is late.", (1, 1, "are")),
    ("BASE_DO", "He/PRP did/VBD+n't/RB come/VB", "He didn't came.", (2, 1, "come")),
    ("BASE_MODAL", "You/PRP must/MD leave/VB", "You must to leave.", (2, 2, "leave")),
    ("BASE_TO", "I/PRP want/VBP to/TO come/VB", "I want to came.", (3, 1, "come")),
    ("PERF_PART", "He/PRP has/VBZ broken/VBN it/PRP", "He has broke it.", (2, 1, "broken")),
    ("PASSIVE_PART", "It/PRP was/VBD written/VBN by/IN Ann/NNP", "It was write by Ann.", (2, 1, "written")),
    ("BE_ING", "She/PRP is/VBZ singing/VBG", "She is sing.", (2, 1, "singing")),
    ("MISSING_BE", "Ann/NNP is/VBZ sleeping/VBG", "Ann sleeping.", (1, 1, "is sleeping")),
    ("EXTRA_BE", "He/PRP believes/VBZ me/PRP", "He is believes me.", (1, 2, "believes")),
    ("TENSE_PAST", "Last/JJ night/NN we/PRP sang/VBD", "Last night we sing.", (3, 1, "sang")),
    ("TENSE_FUT", "They/PRP will/MD arrive/VB tomorrow/NN", "They arrived tomorrow.", (1, 1, "will arrive")),
    ("TENSE_PERF", "She/PRP has/VBZ worked/VBN here/RB since/IN May/NNP", "She works here since May.",
     (1, 1, "has worked")),
    ("PAST_NOT_PERF", "He/PRP left/VBD an/DT hour/NN ago/RB", "He has left an hour ago.", (1, 2, "left")),
    ("TENSE_SEQ", "He/PRP sat/VBD down/RP and/CC opened/VBD it/PRP", "He sat down and opens it.", (4, 1, "opened")),
    ("TO_INF", "They/PRP hope/VBP to/TO win/VB", "They hope win.", (2, 1, "to win")),
    ("BARE_INF", "We/PRP let/VBD him/PRP rest/VB", "We let him to rest.", (3, 2, "rest")),
    ("ING_PREP", "Eat/VB before/IN leaving/VBG the/DT house/NN", "Eat before leave the house.", (2, 1, "leaving")),
    ("ING_VERB", "I/PRP avoid/VBP driving/VBG", "I avoid to drive.", (2, 2, "driving")),
    ("NO_WILL", "When/WRB she/PRP calls/VBZ we/PRP will/MD go/VB", "When she will call we will go.", (2, 2, "calls")),
    ("MODAL_OF", "He/PRP must/MD have/VB gone/VBN", "He must of gone.", (2, 1, "have")),
    ("STATIVE", "She/PRP owns/VBZ a/DT car/NN", "She is owning a car.", (1, 2, "owns")),
    ("ING_TO", "We/PRP look/VBP forward/RB to/TO seeing/VBG you/PRP", "We look forward to see you.",
     (4, 1, "seeing")),
    ("WISH_PAST", "I/PRP wish/VBP I/PRP knew/VBD it/PRP", "I wish I know it.", (3, 1, "knew")),
    ("HABIT", "He/PRP usually/RB plays/VBZ tennis/NN", "He usually is playing tennis.", (2, 2, "plays")),
    ("PAST_PERF", "He/PRP had/VBD left/VBN when/WRB we/PRP came/VBD", "He has left when we came.", (1, 1, "had")),
    ("DO_SUPPORT", "He/PRP does/VBZ not/RB like/VB it/PRP", "He not like it.", (1, 2, "does not like")),
    ("QUESTION_ORDER", "Where/WRB is/VBZ he/PRP going/VBG", "Where he is going?", (1, 2, "is he")),
]  # fmt: skip

VERBS = VerbTable.load()


def tagged(text: str, mark: str = ".") -> TaggedSentence:
    """ "+" joins the tokens of a word."""
    tokens, plain, number = [], "", 0
    for group in text.split():
        parts = [raw.rsplit("/", 1) for raw in group.split("+")]
        is_word = parts[0][1] != ","
        tokens += [TaggedToken(form, tag, number if is_word else None) for form, tag in parts]
        plain += (" " if is_word and plain else "") + "".join(form for form, _ in parts)
        number += is_word
    return TaggedSentence("made", plain + mark, (*tokens, TaggedToken(mark, ".", None)))


@cache
def maker() -> ExampleMaker:
    return ExampleMaker(VERBS, [tagged(case[1], case[2][-1]) for case in CASES])


@cache
def many_examples() -> tuple[Example, ...]:
    return tuple(islice(maker().stream(seed=11), 5000))


def corruptions(text: str, mark: str = ".") -> dict[str, ScriptEdit]:
    """Every wrong sentence that a single candidate makes, with its edit."""
    sentence = tagged(text, mark)
    found = {}
    for one in maker().candidates(sentence):
        wrong = sentence.text[: one.start] + one.wrong + sentence.text[one.end :]
        right = sentence.text[one.start : one.end]
        found[wrong] = ScriptEdit(one.first, one.wrong.count(" ") + 1, right[0].lower() + right[1:], one.reason)
    return found


def test_every_reason_has_a_case() -> None:
    assert [reason.name for reason in Reason] == [case[0] for case in CASES]


@pytest.mark.parametrize(("name", "text", "wrong", "edit"), CASES, ids=[case[0] for case in CASES])
def test_each_reason_makes_its_typical_mistake(name: str, text: str, wrong: str, edit: tuple[int, int, str]) -> None:
    found = corruptions(text, mark=wrong[-1])

    assert found[wrong] == ScriptEdit(*edit, Reason[name])
    for made, mending in found.items():
        if mending.num_words <= 2:  # longer ones become two edits, which the maker's own tests apply
            assert apply_edits(made, [mending]) == tagged(text, wrong[-1]).text, (made, mending)


def made_of(right: str, reason: str = "") -> set[str]:
    """All wrong sentences, or those of one reason; the last token is the mark."""
    text, _, mark = right.rpartition(" ")
    return {wrong for wrong, edit in corruptions(text, mark).items() if edit.reason.name == reason or not reason}


@pytest.mark.parametrize(("reason", "right", "wrong"), table("corruption_exact"))
def test_a_right_sentence_is_broken_in_just_these_ways(reason: str, right: str, wrong: str) -> None:
    assert made_of(right, reason) == set(wrong.split("|"))


@pytest.mark.parametrize(("reason", "right", "wrong"), table("corruption_made"))
def test_a_right_sentence_is_broken_as_learners_break_it(reason: str, right: str, wrong: str) -> None:
    assert wrong in made_of(right, reason)


@pytest.mark.parametrize(("right", "still_right"), table("corruption_never"))
def test_what_might_be_right_is_never_called_wrong(right: str, still_right: str) -> None:
    assert still_right not in made_of(right)


@pytest.mark.parametrize(("reason", "right"), table("corruption_silent"))
def test_where_a_reason_is_not_certain_it_makes_nothing(reason: str, right: str) -> None:
    assert not made_of(right, reason)


def test_a_corruption_at_the_start_of_a_sentence_keeps_its_capital() -> None:
    edit = corruptions("Do/VBP you/PRP like/VB it/PRP", mark="?")["Does you like it?"]

    assert edit == ScriptEdit(0, 1, "do", Reason.SVA_PL)
    assert apply_edits("Does you like it?", [edit]) == "Do you like it?"


def test_applying_the_edits_gives_the_corrected_sentence() -> None:
    assert all(apply_edits(one.sentence, one.edits) == one.corrected for one in many_examples())


def test_the_service_makes_of_every_example_what_the_training_asks_for() -> None:
    """An edit that the guard refused, or put elsewhere, would be learned in vain."""
    served = [(conclude(one.sentence, *one.edits).corrected, one.corrected) for one in many_examples()]

    assert [pair for pair in served if straight(pair[0]) != straight(pair[1])] == []
    assert {edit.reason for one in many_examples() for edit in one.edits} == set(Reason)


def straight(text: str) -> str:
    return text.replace("\u2019", "'")


def test_edits_lie_inside_the_sentence_in_ascending_order() -> None:
    for example in many_examples():
        ends = [0] + [edit.word + edit.num_words for edit in example.edits]
        assert all(edit.word >= end for edit, end in zip(example.edits, ends, strict=False)), example
        assert ends[-1] <= count_words(example.sentence), example
        assert all(edit.num_words in (1, 2) for edit in example.edits), example


def test_an_example_has_edits_exactly_when_its_sentence_is_wrong() -> None:
    assert all(bool(one.edits) == (one.sentence != one.corrected) for one in many_examples())


def test_about_half_of_the_examples_are_clean() -> None:
    share = sum(not one.edits for one in many_examples()) / len(many_examples())

    assert 0.48 < share < 0.56


def test_replacements_are_lower_case() -> None:
    assert all(edit.replacement == edit.replacement.lower() for one in many_examples() for edit in one.edits)


def test_the_same_seed_gives_the_same_examples() -> None:
    again = maker.__wrapped__()

    assert list(islice(again.stream(seed=11), 200)) == list(many_examples()[:200])


def test_surface_noise_shows_in_both_sentences_alike() -> None:
    without_mark = [one for one in many_examples() if one.sentence[-1].isalpha()]
    curly = [one for one in many_examples() if "\u2019" in one.sentence]

    assert all(one.corrected[-1].isalpha() for one in without_mark)
    assert len(without_mark) > len(many_examples()) // 6
    assert curly


def test_make_breaks_the_given_sentence_about_half_of_the_time() -> None:
    rng = random.Random(5)
    examples = [maker().make(tagged("He/PRP went/VBD home/NN"), rng) for _ in range(400)]

    assert 130 < sum(bool(one.edits) for one in examples) < 260
