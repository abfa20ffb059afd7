from __future__ import annotations

import random

import pytest

from api.grammar.verbs import VerbTable
from ops.training.text.written import swaps
from ops.training.text.written.lines import load, parse
from ops.training.text.written.swaps import Swaps, swapped


@pytest.fixture(scope="module")
def all_swaps() -> Swaps:
    return Swaps(VerbTable.load().is_form)


def _drawn(all_swaps: Swaps, text: str) -> list[dict[str, str]]:
    words = all_swaps.words_in(text)
    return [others for seed in range(60) if (others := all_swaps.draw(words, random.Random(seed)))]


def test_a_name_gives_way_to_another_name_wherever_it_stands_in_the_line(all_swaps: Swaps) -> None:
    line = parse("Tom says that [Tom/Anna] {has lived|perfect_tense:lives} here since [2015/Monday].")

    texts = [line.swapped(others).draw(random.Random(0))[0] for others in _drawn(all_swaps, "Tom Anna 2015 Monday")]

    assert texts
    for text in texts:
        first, *rest = text.split(" ")
        assert first != "Tom"
        assert rest[2] != "Anna"
        assert " has lived here since " in text


def test_a_mistake_keeps_its_place_when_the_words_before_it_change(all_swaps: Swaps) -> None:
    line = parse("My brother and three teachers {are|be_agreement:is} waiting in London.")

    for others in _drawn(all_swaps, "brother three teachers London"):
        text, [[mistake]] = line.swapped(others).draw(random.Random(0))
        assert text[mistake.start : mistake.end] == "are"
        assert (mistake.first, mistake.wrong) == (5, "is")


def test_words_of_the_mistake_are_swapped_in_what_is_right_and_what_is_wrong(all_swaps: Swaps) -> None:
    line = parse("Where {does Anna live|do_support:lives Anna}?")

    text, [[mistake]] = line.swapped({"Anna": "Mei"}).draw(random.Random(0))

    assert (text, mistake.wrong) == ("Where does Mei live?", "lives Mei")


def test_two_words_of_a_line_never_become_one(all_swaps: Swaps) -> None:
    for others in _drawn(all_swaps, "Tom Paul David Monday Tuesday"):
        assert len(set(others.values()) | {"Tom", "Paul", "David", "Monday", "Tuesday"}) == len(others) + 5


def test_what_may_be_a_verb_is_left_alone(all_swaps: Swaps) -> None:
    assert not all_swaps.words_in("They train the dog and may nurse it; brown, green, table.")


def test_no_word_stands_in_two_classes_and_none_in_a_class_by_itself(all_swaps: Swaps) -> None:
    words = [word for words in swaps._CLASSES for word in words]

    assert len(words) == len(set(words))
    assert min(map(len, swaps._CLASSES)) >= 3


def test_a_third_of_the_written_lines_holds_a_word_to_swap(all_swaps: Swaps) -> None:
    lines = load(held_out=True)

    assert sum(bool(line.words_in(all_swaps)) for line in lines) / len(lines) == pytest.approx(0.34, abs=0.06)


def test_a_possessive_changes_and_a_longer_word_stays_as_it_is() -> None:
    assert swapped("Tom's tomtom and Tomas know Tom.", {"Tom": "Ivan"}) == "Ivan's tomtom and Tomas know Ivan."
