"""What surrounds mistakes: right sentences that look wrong, long ones, slips outside the verbs, edits side by side."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import islice

import pytest

from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from ops.training.text.edits import apply_edits
from ops.training.text.generators.hard_clean import fill, hard_clean_sentence, templates
from ops.training.text.longer import MOST_WORDS, Joiner, tense_of
from ops.training.text.maker import Example, ExampleMaker
from ops.training.text.noise import add_slips
from ops.training.text.surface import Span, frame
from tests.unit.test_corruption import tagged

TEXTS = (
    "He/PRP does/VBZ+n't/RB know/VB the/DT answer/NN",
    "She/PRP walked/VBD to/TO the/DT museum/NN with/IN her/PRP$ brother/NN",
    "They/PRP went/VBD home/NN in/IN the/DT evening/NN",
    "The/DT teacher/NN took/VBD a/DT picture/NN of/IN the/DT mountain/NN",
    "We/PRP live/VBP in/IN Boston/NNP",
    "He/PRP likes/VBZ music/NN",
)


SENTENCES = [tagged(text) for text in TEXTS]


@cache
def maker() -> ExampleMaker:
    return ExampleMaker(VerbTable.load(), SENTENCES)


@cache
def examples() -> tuple[Example, ...]:
    return tuple(islice(maker().stream(seed=3), 4000))


def test_two_edits_may_stand_side_by_side_but_never_overlap() -> None:
    ends = [
        [(one.word + one.num_words, other.word) for one, other in zip(each.edits, each.edits[1:], strict=False)]
        for each in examples()
    ]
    gaps = [start - end for pairs in ends for end, start in pairs]

    assert 0 in gaps
    assert min(gaps) == 0


def test_a_joined_sentence_has_the_mistakes_of_its_parts_and_is_mended_by_their_edits() -> None:
    joined = [one for one in examples() if one.edits and count_words(one.sentence) > 25]

    assert joined
    for one in joined:
        assert apply_edits(one.sentence, one.edits) == one.corrected


def test_the_mix_has_sentences_of_all_lengths() -> None:
    lengths = [count_words(one.sentence) for one in examples()]

    for low in (16, 25, 35, 45, 55):
        assert any(low <= length < low + 10 for length in lengths), low
    assert 0.03 < sum(length >= 25 for length in lengths) / len(lengths) < 0.14


def test_a_candidate_moves_with_the_part_it_belongs_to() -> None:
    rng = random.Random(1)
    joiner = Joiner(SENTENCES)
    candidates = maker().candidates(SENTENCES[2])
    assert candidates
    for _ in range(50):
        sentence, moved = joiner.lengthen((SENTENCES[2], candidates), rng)
        assert count_words(sentence.text) <= MOST_WORDS
        assert [token.word_number for token in sentence.tokens if token.word_number is not None][-1] + 1 == (
            count_words(sentence.text)
        )
        for before, after in zip(candidates, moved, strict=True):
            right = SENTENCES[2].text[before.start : before.end]
            assert sentence.text[after.start : after.end].lower() == right.lower()


def test_a_joined_part_begins_small_unless_it_is_i() -> None:
    parts = [tagged("It/PRP was/VBD late/JJ"), tagged("I/PRP was/VBD tired/JJ")]
    joiner = Joiner(parts)
    texts = [joiner.lengthen((parts[1], ()), random.Random(seed))[0].text for seed in range(30)]

    assert not any(" It " in text or " i " in text for text in texts)
    assert any(" it was" in text for text in texts)


def test_only_plain_statements_of_one_tense_are_joined() -> None:
    assert tense_of(SENTENCES[1]) == "past"
    assert tense_of(SENTENCES[4]) == "present"
    assert tense_of(tagged("I/PRP wish/VBP he/PRP knew/VBD")) == ""
    assert tense_of(tagged("If/IN he/PRP comes/VBZ I/PRP go/VBP")) == ""


def test_slips_are_the_same_on_both_sides_and_the_edit_still_fits() -> None:
    for seed in range(400):
        rng = random.Random(seed)
        sentence = rng.choice([one for one in SENTENCES if maker().candidates(one)])
        candidate = rng.choice(maker().candidates(sentence))
        example = maker()._example(sentence, [candidate], rng)
        assert apply_edits(example.sentence, example.edits) == example.corrected


def test_a_slip_touches_no_word_that_may_be_a_verb() -> None:
    text = "They walked with the old camera to the dark museum of the town, Anna said."
    for seed in range(300):
        spans = [Span(text, text)]
        add_slips(spans, (), maker().lexicon, random.Random(seed))
        assert spans[0].wrong == spans[0].right
        for verb in ("walked", "said", " to "):
            assert verb in spans[0].wrong.replace("  ", " ")


@pytest.mark.parametrize("seed", range(40))
def test_a_frame_tells_how_many_words_it_put_before(seed: int) -> None:
    spans = [Span("He left.", "He left.")]

    shift = frame(spans, random.Random(seed))

    text = "".join(span.wrong for span in spans)
    words = re.findall(r"[^\W_][\w'’.:-]*", text)
    assert "He" in words
    assert count_words(text[: text.rindex("He left")]) == shift


def test_every_template_becomes_a_sentence_without_leftovers() -> None:
    rng = random.Random(2)

    assert len(templates()) > 800
    for template in templates():
        text = fill(template, rng)
        assert not re.search(r"[{}|\t\\]|  ", text), text
        assert count_words(text) >= 1


def test_hard_clean_sentences_keep_the_capital_of_a_name() -> None:
    rng = random.Random(4)
    found = [hard_clean_sentence(rng) for _ in range(2000)]

    assert all(one.tokens[0].tag == "NNP" for one in found if one.text.startswith(("I ", "I'm", "Mehmet ", "Tom ")))
