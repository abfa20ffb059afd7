"""The training data's labels: each reason breaks a sentence as learners do, and its edit mends it."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from ops.training.evaluation.added import Broken, added, break_sentences, differences
from ops.training.evaluation.product import ProductCorrector
from ops.training.text.corpus import TaggedSentence, TaggedToken
from ops.training.text.edits import apply_edits, with_mistake
from ops.training.text.maker import Example, ExampleMaker, Mix
from scheduler.messages import MAX_WORDS
from scheduler.settings import Settings
from tests.tables import table
from tests.unit.test_pipeline import conclude

CASES = table("corruption_typical")
VERBS = VerbTable.load()


def marked(right: str) -> tuple[str, str]:
    """A tagged text, and the mark that is its last token."""
    text, _, mark = right.rpartition(" ")
    return text, mark


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
    return ExampleMaker(VERBS, [tagged(*marked(case[1])) for case in CASES])


@cache
def many_examples() -> tuple[Example, ...]:
    """Those that the training takes: it leaves out what is longer than a sentence may be."""
    fitting = (one for one in maker().stream(seed=11) if count_words(one.sentence) <= MAX_WORDS)
    return tuple(islice(fitting, 5000))


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


@pytest.mark.parametrize(
    ("reason", "right", "wrong", "word", "num_words", "text"), CASES, ids=[one[0] for one in CASES]
)
def test_each_reason_makes_its_typical_mistake(
    reason: str, right: str, wrong: str, word: str, num_words: str, text: str
) -> None:
    found = corruptions(*marked(right))

    assert found[wrong] == ScriptEdit(int(word), int(num_words), text, Reason[reason])
    for made, mending in found.items():
        if mending.num_words <= 2:  # longer ones become two edits, which the maker's own tests apply
            assert apply_edits(made, [mending]) == tagged(*marked(right)).text, (made, mending)


def made_of(right: str, reason: str = "") -> set[str]:
    """All wrong sentences, or those of one reason."""
    return {wrong for wrong, edit in corruptions(*marked(right)).items() if edit.reason.name == reason or not reason}


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


def test_prose_and_mined_sentences_are_met_for_their_own_sake_right_and_broken() -> None:
    plain = [tagged(f"He/PRP sings/VBZ number/NN {number}/CD") for number in range(100)]
    natural = [replace(tagged(*marked("He/PRP saw/VBD her/PRP yesterday/NN .")), source="wikipedia")]
    mined = [tagged(*marked("She/PRP has/VBZ seen/VBN it/PRP ."))]

    texts = [one.text for one in (natural[0], mined[0])]
    stream = ExampleMaker(VERBS, [*plain, *natural, *mined], mix=Mix(mined={texts[1]})).stream(seed=3)
    examples = list(islice(stream, 3000))

    for text, least, least_broken, most_broken in zip(texts, (0.17, 0.04), (0.2, 0.3), (0.45, 0.7), strict=True):
        bare = text.rstrip(".").lower()
        met = [one for one in examples if bare in one.corrected.lower()]
        assert len(met) > least * len(examples)
        assert least_broken < sum(bool(one.edits) for one in met) / len(met) < most_broken


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


def test_candidates_found_by_two_processes_give_the_same_examples() -> None:
    again = maker.__wrapped__()
    again.find_candidates(2)

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


@pytest.mark.parametrize(
    ("answer", "is_added"),
    [
        ("He has seen her.", False),
        ("He has saw her.", False),  # as it was
        ("He have saw her.", True),
        ("He have seen her.", True),
        ("He has seen them.", False),  # wrong, but no mistake of the rules
    ],
)
def test_an_answer_adds_a_mistake_where_it_makes_one_that_the_rules_know(answer: str, is_added: bool) -> None:
    sentence = tagged("He/PRP has/VBZ seen/VBN her/PRP")
    known = [differences(sentence.text, with_mistake(sentence.text, one)) for one in maker().candidates(sentence)]
    saw = differences(sentence.text, "He has saw her.")

    broken = Broken(sentence.text, "He has saw her.", frozenset().union(*known) - saw)

    assert bool(added(broken, answer)) is is_added


def test_every_sentence_that_can_be_broken_is_broken_once_to_count_what_answers_add() -> None:
    sentences = [tagged(*marked(case[1])) for case in CASES]

    broken = list(break_sentences(sentences, maker(), random.Random(0)))

    assert [one.right for one in broken] == [one.text for one in sentences]
    assert all(one.sentence != one.right for one in broken)


def test_no_answer_adds_a_mistake_that_the_rules_know() -> None:
    """A property of the shipped weights over the sentences of these tables, broken in one to three places each."""
    rows = [
        *(case[1] for case in CASES),
        *(row[1] for name in ("exact", "made") for row in table(f"corruption_{name}")),
    ]
    sentences = [tagged(*marked(row)) for row in rows]
    broken = [one for seed in range(10) for one in break_sentences(sentences, maker(), random.Random(seed))]

    answers = ProductCorrector(Settings())([one.sentence for one in broken])

    wrong = [(one.sentence, answer.corrected) for one, answer in zip(broken, answers, strict=True)
             if added(one, answer.corrected)]  # fmt: skip
    assert wrong == []
