"""Noun phrases as sentences: right as they stand."""

from __future__ import annotations

import random

import pytest

from ops.training.text.generators.fragments import fragments
from tests.unit.test_corruption import tagged


@pytest.mark.parametrize(
    ("sentence", "fragment"),
    [
        ("He/PRP heard/VBD the/DT loud/JJ sound/NN of/IN the/DT trumpets/NNS", "The loud sound of the trumpets."),
        ("A/DT man/NN in/IN a/DT hat/NN from/IN Ohio/NNP sang/VBD", "A man in a hat."),
    ],
)
def test_a_noun_phrase_with_its_phrases_is_cut_out(sentence: str, fragment: str) -> None:
    assert [one.text for one in fragments([tagged(sentence)], random.Random(1))] == [fragment]


@pytest.mark.parametrize("sentence", ["The/DT man/NN sang/VBD", "He/PRP sang/VBD of/IN the/DT sea/NN"])
def test_a_bare_noun_phrase_is_left(sentence: str) -> None:
    assert fragments([tagged(sentence)], random.Random(1)) == []
