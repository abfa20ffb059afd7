"""Participles before a noun: what is broken about them, and what is left alone."""

from __future__ import annotations

import random

import pytest

from api.grammar.verbs import VerbTable
from ops.training.text.corruption.adjectives import participle_sentences
from ops.training.text.lexicon import Lexicon
from tests.unit.test_corruption import corruptions, tagged


@pytest.mark.parametrize(
    "wrong", ["The broke mirror was cheap.", "The breaked mirror was cheap.", "The broked mirror was cheap."]
)
def test_a_past_or_an_invented_form_before_a_noun_is_wrong(wrong: str) -> None:
    assert wrong in corruptions("The/DT broken/JJ mirror/NN was/VBD cheap/JJ")


@pytest.mark.parametrize(
    ("right", "still_right"),
    [
        ("He/PRP is/VBZ broken/JJ", "He is broke."),
        ("The/DT spoken/JJ word/NN counts/VBZ", "The spoke word counts."),
        ("The/DT cut/JJ flowers/NNS are/VBP fresh/JJ", "The cutted flowers are fresh."),
    ],
)
def test_where_the_past_may_be_another_word_nothing_is_made(right: str, still_right: str) -> None:
    assert still_right not in corruptions(right)


def test_a_participle_goes_between_the_determiner_and_its_noun() -> None:
    sentence = tagged("My/PRP$ mirror/NN was/VBD cheap/JJ")

    made = participle_sentences([sentence], Lexicon.build(VerbTable.load(), [sentence]), random.Random(1))

    words = made[0].text.split()
    assert (words[0], words[2:]) == ("My", ["mirror", "was", "cheap."])
    assert [token.word_number for token in made[0].tokens] == [0, 1, 2, 3, 4, None]
